//===- CommandLine.cpp - the options of heddle-bench ----------------------===//

#include "CommandLine.h"

#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Runtime/CpuDevice.h"
#include "heddle/Runtime/Emulator.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace heddle::bench {

static const std::map<std::string, CheckMode> kCheckModes = {
    {"auto", CheckMode::Auto},
    {"full", CheckMode::Full},
    {"sampled", CheckMode::Sampled},
    {"none", CheckMode::None}};

Row CommandLine::config() const {
  std::string check;
  for (const auto &[name, mode] : kCheckModes)
    if (mode == run.check)
      check = name;
  return {{"device", device},
          {"suites", selection.suites},
          {"filters", selection.filters},
          {"sets", selection.sets},
          {"repeats", run.repeats},
          {"warmup", run.warmup},
          {"threads", run.threads},
          {"seed", run.seed},
          {"check", check},
          {"cpu", run.cpu},
          {"target", run.target},
          {"seeds", run.emulator ? run.seeds : 1},
          {"plan_only", run.planOnly},
          {"append", append},
          {"tag", tag}};
}

/// What devices and targets ask of each other; fills what follows from them.
static Status finishDevice(CommandLine &options, const std::string &sanitize,
                           const std::string &report) {
  RunOptions &run = options.run;
  run.emulator = options.device == "emulator";
  if (run.target.empty())
    run.target = run.emulator ? "sm_80" : "cpu";
  llvm::SmallVector<const GpuTarget *> gpus;
  std::string error;
  if (failed(parseTargets(run.target, gpus, error)))
    return Status::error(error);
  options.selection.gpu = !gpus.empty();
  run.reportKernels = !report.empty();
  if (run.reportKernels && (!run.planOnly || gpus.empty()))
    return Status::error("expected --plan-only and --target=sm_80 or the like "
                         "with --report=kernels");
  if (run.emulator && gpus.size() != 1)
    return Status::error(
        "expected one GPU target with --device=emulator, got '" + run.target +
        "'");
  if (!run.emulator && !gpus.empty() && !run.planOnly)
    return Status::error("expected --device=emulator or --plan-only with "
                         "--target=" +
                         run.target + ", got --device=" + options.device);
  if (!run.emulator && !sanitize.empty())
    return Status::error("expected --device=emulator with --sanitize, got '" +
                         options.device + "'");
  return parseSanitizers(sanitize.empty() ? "all" : sanitize, run.sanitizers);
}

/// An option that takes one value each time it is given.
static void addList(CLI::App &app, const std::string &name,
                    std::vector<std::string> &values, const char *help) {
  app.add_option(name, values, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

int parseCommandLine(int argc, char **argv, CommandLine &options) {
  CLI::App app{"Times, plans and checks model graphs compiled by Heddle."};
  app.footer("Example: heddle-bench --suite=attention --filter=dtype=float32 "
             "--filter=seq=128,512 -o a.json");
  std::string check = "auto";
  app.add_option("--suite", options.selection.suites,
                 "Suites to run, separated by commas; see --list")
      ->delimiter(',');
  app.add_option("--device", options.device,
                 "Where to run: cpu, or emulator (GPU kernels, checked)")
      ->check(CLI::IsMember({"cpu", "emulator"}));
  app.add_option("--target", options.run.target,
                 "What to compile for: cpu; a GPU as sm_80 for the emulator; "
                 "GPUs joined by commas with --plan-only");
  app.add_option("--seeds", options.run.seeds,
                 "Runs of a row on the emulator, each with another order of "
                 "warps; results must be equal to the bit")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  std::string sanitize, report;
  app.add_option("--sanitize", sanitize,
                 "Checks of the emulator: all (default), none, or of memcheck, "
                 "racecheck, initcheck, synccheck, joined by commas");
  app.add_option("--report", report,
                 "kernels: assemble them and report registers, spills, stack "
                 "and shared memory; a row with spills or stack fails")
      ->check(CLI::IsMember({"kernels"}));
  addList(app, "--filter", options.selection.filters,
          "KEY=V1,V2: keep rows whose KEY is one of the values; repeats, and "
          "all must hold");
  addList(app, "--set", options.selection.sets,
          "KEY=VALUE: override a size of the chosen rows; repeats");
  app.add_flag("--plan-only", options.run.planOnly,
               "Compile and plan, run nothing");
  app.add_option("--emit-mlir", options.run.emitMlir,
                 "Also write each row's graph into this folder");
  app.add_option("-o,--output", options.output,
                 "Result file (JSON); - is standard output");
  app.add_flag("--append", options.append,
               "Keep the rows that the result file has");
  addList(app, "--compare", options.compare,
          "Print ratios to the rows of this result file that did the same "
          "work; repeats");
  app.add_option("--plot", options.plot,
                 "Draw times, memory and ratios into this folder; needs python3 "
                 "with matplotlib (HEDDLE_PYTHON: another interpreter)");
  app.add_flag("--list", options.list, "List the chosen rows and stop");
  app.add_option("--repeats", options.run.repeats, "Samples per row")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--warmup", options.run.warmup,
                 "Calls before the samples, beside the first one")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--tag", options.tag, "Text for the key `tag` of each row");
  app.add_option("--seed", options.run.seed, "Seed of the inputs")
      ->capture_default_str();
  app.add_option("--threads", options.run.threads,
                 "Worker threads; 0: every core this process may use")
      ->check(CLI::Range(0, 1024));
  app.add_option("--check", check,
                 "How much is compared with the reference device: auto "
                 "(whole, samples of long rows), full, sampled, none")
      ->check(CLI::IsMember({"auto", "full", "sampled", "none"}));
  app.add_option("--cpu", options.run.cpu,
                 "CPU to compile for: native, x86-64-v3, x86-64-v4")
      ->capture_default_str();
  options.run.threads = 0;
  options.run.target.clear();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::cerr << "heddle-bench: error: " << error.what()
              << "; see heddle-bench --help\n";
    return 1;
  }
  if (Status s = finishDevice(options, sanitize, report); !s) {
    std::cerr << "heddle-bench: error: " << s.message << "\n";
    return 1;
  }
  options.run.check = kCheckModes.at(check);
  if (options.run.threads == 0)
    options.run.threads = cpuThreads();
  return -1;
}

} // namespace heddle::bench
