// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command `meshpar`. Status: 0 fine, 1 a rule is broken, 2 the input cannot be read.
#include <meshpar/version.hpp>

#include "readers.hpp"
#include "report.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace mt = meshpar_tools;

namespace {

constexpr int fine = 0, broken = 1, unreadable = 2;

// What a field takes, for the help.
std::string takes(int) { return "N"; }
std::string takes(unsigned long long) { return "N"; }
std::string takes(double) { return "X"; }
std::string takes(const int (&)[mt::mp::stage_limit]) { return "N,N,..."; }
template <class Enum>
std::string takes(Enum) {
  std::string all;
  for (const char* word : mt::words<Enum>::values) all += (all.empty() ? "" : "|") + std::string(word);
  return all;
}

// The options of every field, by its name.
void add_fields(CLI::App& app, std::map<std::string, std::string>& options) {
  const mt::configuration defaults;
  mt::each_field(defaults, [&]<class T>(const std::string& group, const std::string& name, const T& field) {
    const std::string option = mt::option_of(name), no = "--no" + option.substr(1);
    const auto keep = [&options, name, option](const std::string& text) {
      if (!options.emplace(name, text).second) throw mt::bad_input(option + " is given on and off; leave one out");
    };
    const std::string usual = "default " + mt::written(field).dump();
    if constexpr (std::is_same_v<T, bool>) {
      app.add_flag_callback(
             option, [keep] { keep("true"); }, usual + "; off with " + no)
          ->group(group)
          ->disable_flag_override();
      app.add_flag_callback(no, [keep] { keep("false"); })->group("")->disable_flag_override();
    } else {
      app.add_option_function<std::string>(option, keep, usual)->group(group)->type_name(takes(field));
    }
  });
}

void add_inputs(CLI::App& app, mt::inputs& in) {
  add_fields(app, in.options);
  const char* from = "sources";
  app.add_option("--config", in.config, "our JSON: {\"model\": {}, \"job\": {}, \"plan\": {}}")->group(from);
  app.add_option("--megatron", in.megatron, "the flags of Megatron-LM in one text; or put them behind --")->group(from);
  app.add_option("--megatron-file", in.megatron_file, "the same in a file")->group(from);
  app.add_option("--hf", in.huggingface, "config.json of Hugging Face: " + mt::huggingface_types())->group(from);
  app.add_option("--torchtitan", in.torchtitan, "a job file of torchtitan")->group(from);
  app.add_option("--deepspeed", in.deepspeed, "a configuration of DeepSpeed")->group(from);
  app.add_option("--world-size", in.world_size, "ranks; dp follows from it")->group(from);
  app.add_option_function<std::vector<std::string>>(
         "--ignore", [&in](const auto& names) { in.ignored.insert(names.begin(), names.end()); },
         "a flag or key to pass over; again for each")
      ->group(from)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// A report that nobody got is no verdict.
void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw mt::bad_input("cannot write to stdout; give it a place");
}

int check(const mt::inputs& in, bool as_json) {
  const mt::outcome o = mt::judge(mt::resolve(in));
  print(as_json ? mt::json_of(o).dump(2) + '\n' : mt::lines_of(o));
  return o.ok() ? fine : broken;
}

// C++ keeps names that begin with _ or hold __ for itself.
bool is_name(const std::string& name) {
  constexpr const char* all = "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return !name.empty() && name.find_first_not_of(all) == name.npos && (name[0] > '9' && name[0] != '_') &&
         (name + "_").find("__") == name.npos;
}

int emit(const mt::inputs& in, const std::string& name) {
  if (!is_name(name))
    throw mt::bad_input("--name is " + mt::in_quotes(name) +
                        "; it must be letters, digits and single _ between them, with a letter first");
  const mt::outcome o = mt::judge(mt::resolve(in));
  if (o.ok() && o.built) return print(mt::header_of(o, name)), fine;
  std::fputs(mt::lines_of(o).c_str(), stderr);
  if (o.ok()) std::fputs("refused: a header of what is not built yet would not compile\n", stderr);
  return broken;
}

int refuse(const std::string& sentence, bool as_json) {
  std::fprintf(stderr, "meshpar: %s\n", sentence.c_str());
  if (as_json)
    std::fputs((mt::json{{"ok", false}, {"error", mt::shown(sentence, sentence.size())}}.dump(2) + '\n').c_str(),
               stdout);
  return unreadable;
}

// What CLI11 does not know, first to last.
std::string unexpected(const CLI::App& app) {
  std::string all;
  for (const std::string& word : app.remaining(true)) all += (all.empty() ? "" : " ") + word;
  return mt::in_quotes(all) +
         " is not known; meshpar check --help lists the options, and flags of Megatron-LM stand "
         "behind --";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Checks a parallel plan by the rules that the compiler checks."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "meshpar " + std::to_string(MESHPAR_VERSION_MAJOR) + "." +
                                        std::to_string(MESHPAR_VERSION_MINOR) + "." +
                                        std::to_string(MESHPAR_VERSION_PATCH));
  mt::inputs in;
  bool as_json = false;
  std::string name = "run";
  CLI::App& checking = *app.add_subcommand("check", "print every broken rule; status 0 fine, 1 broken, 2 unreadable");
  CLI::App& emitting = *app.add_subcommand("emit", "print a configuration that passes as a C++ header");
  add_inputs(checking, in);
  add_inputs(emitting, in);
  checking.add_flag("--json", as_json, "print one JSON object")->disable_flag_override();
  emitting.add_option("--name", name, "what the constants' names begin with");

  std::vector<std::string> words(argv + 1, argv + argc);
  if (const auto end = std::find(words.begin(), words.end(), "--"); end != words.end()) {
    in.megatron_words.assign(end + 1, words.end());
    words.erase(end, words.end());
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
    return checking.parsed() ? check(in, as_json) : emit(in, name);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError&) {
    return refuse(unexpected(app), as_json);
  } catch (const CLI::ParseError& e) {
    return refuse(mt::shown(e.what(), 200) + "; meshpar check --help lists the options", as_json);
  } catch (const mt::bad_input& e) {
    return refuse(e.what(), as_json);
  }
}
