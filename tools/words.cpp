// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "readers.hpp"

namespace meshpar_tools {

namespace {

class splitter {
 public:
  explicit splitter(const std::string& text) : text_(text) {}

  std::vector<std::string> words() {
    while (at_ < text_.size()) step();
    end_word();
    return words_;
  }

 private:
  void step() {
    const char c = text_[at_++];
    if (c == '\\') return escaped();
    if (c == '\'' || c == '"') return quote(c);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return end_word();
    if (c == '#' && !in_word_) return skip_line();
    if (c == '$' || c == '`' || c == ';' || c == '|' || c == '&' || c == '<' || c == '>') of_a_shell();
    put(c);
  }
  void escaped() {
    if (at_ == text_.size()) return;
    if (const char c = text_[at_++]; c != '\n') put(c);
  }
  void quote(char mark) {
    in_word_ = true;
    for (; at_ < text_.size() && text_[at_] != mark; ++at_) {
      if (mark == '"' && (text_[at_] == '$' || text_[at_] == '`')) ++at_, of_a_shell();
      if (mark == '"' && text_[at_] == '\\' && is_escaped(at_ + 1)) ++at_;
      word_ += text_[at_];
    }
    if (at_++ == text_.size()) throw bad_input(std::string("the flags open a quote ") + mark + " and do not close it");
  }
  bool is_escaped(std::size_t at) const {  // within "
    return at < text_.size() && std::string_view("\"\\$`").find(text_[at]) != std::string_view::npos;
  }
  [[noreturn]] void of_a_shell() const {
    const std::string rest = text_.substr(at_ - 1, 40);
    throw bad_input(in_quotes(rest.substr(0, rest.find_first_of(" \t\r\n"))) +
                    " is for a shell; write what it stands for, in quotes if it is meant");
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }
  void put(char c) { word_ += c, in_word_ = true; }
  void end_word() {
    if (in_word_) words_.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> split_words(const std::string& text) { return splitter(text).words(); }

}  // namespace meshpar_tools
