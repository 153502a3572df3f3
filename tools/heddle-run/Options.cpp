//===- Options.cpp - the command line of heddle-run -----------------------===//

#include "Options.h"

#include "heddle/Runtime/Emulator.h"
#include "heddle/Runtime/TensorArchive.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <map>

using namespace heddle;
using namespace heddle::run;

namespace {

/// The options as CLI11 fills them.
struct RawOptions {
  std::string device = "cpu", check, report, referenceMode = "exact", sanitize;
  std::string f32Precision = "ieee", seed;
  std::vector<std::string> inputs, outputs, expected;
  std::string inputArchive, outputArchive;
  double rtol = 0, atol = 0;
};

Status expectedOneOf(const std::string &option, const std::string &choices,
                     const std::string &found) {
  return Status::error("expected " + option + " to be " + choices + ", got '" +
                       found + "'");
}

/// "@FILE.npy" for --output and --expected-output; "-" and "@-" are standard
/// output where that makes sense.
Status parsePath(const std::string &option, const std::string &text,
                 bool allowDash, std::string &path) {
  if (allowDash && text == "-")
    path = "-";
  else if (text.size() > 1 && text[0] == '@')
    path = text.substr(1);
  else
    return Status::error("expected " + option + "=@FILE.npy, got '" + text +
                         "'");
  return {};
}

/// "@FILE.npz" or "@FILE.safetensors"; empty stays empty.
Status parseArchive(const std::string &option, const std::string &text,
                    std::string &path) {
  if (text.empty())
    return {};
  if (text[0] == '@' && isTensorArchivePath(text)) {
    path = text.substr(1);
    return {};
  }
  return Status::error("expected " + option +
                       "=@FILE.npz or @FILE.safetensors, got '" + text + "'");
}

/// "cpu", "emulator", "reference", "cuda" or "cuda:1".
Status parseDevice(const std::string &text, Options &options) {
  static const std::map<std::string, DeviceKind> names = {
      {"cpu", DeviceKind::Cpu},
      {"cuda", DeviceKind::Cuda},
      {"emulator", DeviceKind::Emulator},
      {"reference", DeviceKind::Reference}};
  if (auto it = names.find(text); it != names.end()) {
    options.device = it->second;
    return {};
  }
  const std::string cuda = "cuda:";
  if (text.compare(0, cuda.size(), cuda) == 0) {
    const char *first = text.data() + cuda.size();
    const char *last = text.data() + text.size();
    auto [end, error] = std::from_chars(first, last, options.deviceOrdinal);
    options.device = DeviceKind::Cuda;
    if (error == std::errc() && end == last && options.deviceOrdinal >= 0)
      return {};
  }
  return expectedOneOf("--device", "cpu, cuda, cuda:N, emulator or reference",
                       text);
}

/// What only devices with GPU code take.
Status readEmulatorOptions(const RawOptions &raw, Options &options) {
  bool emulator = options.device == DeviceKind::Emulator;
  auto wanted = [&](const char *device, const char *option) {
    return Status::error("expected --device=" + std::string(device) + " with " +
                         option + ", got '" + raw.device + "'");
  };
  if (!options.target.empty() && !emulator &&
      options.device != DeviceKind::Cuda)
    return wanted("emulator or cuda", "--target");
  if (raw.f32Precision != "ieee" && raw.f32Precision != "tf32")
    return expectedOneOf("--f32-precision", "ieee or tf32", raw.f32Precision);
  options.tf32 = raw.f32Precision == "tf32";
  if (options.tf32 && !emulator && options.device != DeviceKind::Cuda)
    return wanted("emulator or cuda", "--f32-precision");
  if (!options.tile.empty() && !emulator && options.device != DeviceKind::Cuda)
    return wanted("emulator or cuda", "--tile");
  if (options.scanChunks && !emulator && options.device != DeviceKind::Cuda)
    return wanted("emulator or cuda", "--scan-chunks");
  if (!raw.sanitize.empty() && !emulator)
    return wanted("emulator", "--sanitize");
  if (!raw.seed.empty() && !emulator)
    return wanted("emulator", "--seed");
  const char *end = raw.seed.data() + raw.seed.size();
  if (auto [at, error] = std::from_chars(raw.seed.data(), end, options.seed);
      !raw.seed.empty() && (error != std::errc() || at != end))
    return expectedOneOf("--seed", "a number from 0 to 2^64 - 1", raw.seed);
  if (options.maxFindings && !emulator)
    return wanted("emulator", "--max-findings");
  if (options.maxFindings < 0)
    return Status::error("expected --max-findings of at least 0, got " +
                         std::to_string(options.maxFindings));
  if (options.target.empty() && emulator)
    options.target = "sm_80";
  Status s = parseSanitizers(raw.sanitize.empty() ? "all" : raw.sanitize,
                             options.sanitizers);
  return s.ok() ? s : Status::error("--sanitize: " + s.message);
}

Status checkTolerance(const std::string &option,
                      const std::optional<double> &value) {
  if (!value || (std::isfinite(*value) && *value >= 0))
    return {};
  return Status::error("expected " + option +
                       " to be finite and not negative, got " +
                       std::to_string(*value));
}

Status finish(const RawOptions &raw, Options &options) {
  if (options.serve && (!options.model.empty() || options.checkReference))
    return Status::error("expected models in requests with --serve, got " +
                         (options.model.empty() ? "--check=" + raw.check
                                                : "'" + options.model + "'"));
  if (options.model.empty() && !options.listDevices && !options.serve)
    return Status::error("expected a model, found none; pass MODEL.heddle or "
                         "MODEL.mlir, or - for standard input");
  if (Status s = parseDevice(raw.device, options); !s.ok())
    return s;
  if (options.checkLaunches && options.device != DeviceKind::Cuda)
    return Status::error("expected --device=cuda with --check-launches, got '" +
                         raw.device + "'");
  if (Status s = readEmulatorOptions(raw, options); !s.ok())
    return s;
  if (raw.referenceMode != "exact" && raw.referenceMode != "declared")
    return expectedOneOf("--reference-mode", "exact or declared",
                         raw.referenceMode);
  options.declared = raw.referenceMode == "declared";
  if (!raw.check.empty() && raw.check != "reference")
    return expectedOneOf("--check", "reference", raw.check);
  options.checkReference = !raw.check.empty();
  if (!raw.report.empty())
    if (Status s = parseReportFormat(raw.report, options.report); !s.ok())
      return s;

  for (const std::string &text : raw.inputs)
    if (Status s = parseInput(text, options.inputs.emplace_back()); !s.ok())
      return s;
  if (Status s =
          parseArchive("--inputs", raw.inputArchive, options.inputArchive);
      !s.ok())
    return s;
  if (Status s =
          parseArchive("--outputs", raw.outputArchive, options.outputArchive);
      !s.ok())
    return s;
  int dashes = 0;
  for (const std::string &text : raw.outputs) {
    std::string &path = options.outputs.emplace_back();
    if (Status s = parsePath("--output", text, true, path); !s.ok())
      return s;
    dashes += path == "-";
  }
  if (dashes && (dashes > 1 || options.report != ReportFormat::None))
    return Status::error("expected one use of standard output, got several "
                         "(--output=- and --report); write to a file");
  for (const std::string &text : raw.expected)
    if (Status s = parsePath("--expected-output", text, false,
                             options.expected.emplace_back());
        !s.ok())
      return s;

  if (Status s = checkTolerance("--rtol", options.rtol); !s.ok())
    return s;
  if (Status s = checkTolerance("--atol", options.atol); !s.ok())
    return s;
  if (options.threads < 0 || options.repeats < 0 || options.warmup < 0 ||
      options.inner < 0)
    return Status::error(
        "expected --threads, --repeats, --warmup and --inner of at "
        "least 0, got " +
        std::to_string(std::min({options.threads, options.repeats,
                                 options.warmup, options.inner})));
  return {};
}

} // namespace

Status heddle::run::parseInput(const std::string &text, InputSpec &spec) {
  std::string source = text;
  size_t equal = text.find('=');
  if (!text.empty() && text[0] != '@' && equal != std::string::npos) {
    spec.name = text.substr(0, equal);
    source = text.substr(equal + 1);
  }
  if (source.size() > 1 && source[0] == '@') {
    spec.path = source.substr(1);
    return {};
  }
  const std::string random = "random:";
  if (source.compare(0, random.size(), random) == 0) {
    const char *first = source.data() + random.size();
    const char *last = source.data() + source.size();
    auto [end, error] = std::from_chars(first, last, spec.seed);
    if (error == std::errc() && end == last && first != last)
      return {};
  }
  return Status::error("expected --input=[NAME=]@FILE.npy or "
                       "[NAME=]random:SEED, got '" +
                       text + "'");
}

Status heddle::run::parseCommandLine(int argc, char **argv, Options &options,
                                     bool &exit) {
  RawOptions raw;
  CLI::App app("Runs a compiled bundle or a model graph and summarises its "
               "results.",
               "heddle-run");
  app.set_version_flag("--version", "heddle-run " HEDDLE_VERSION);
  app.add_option("model", options.model,
                 "MODEL.heddle or MODEL.mlir; - is standard input");
  app.add_option("--device", raw.device,
                 "cpu (default), cuda, cuda:N, emulator or reference");
  app.add_option("--target", options.target,
                 "GPU that a graph is compiled for, as sm_80; default: that of "
                 "the CUDA device, sm_80 on the emulator");
  app.add_option("--f32-precision", raw.f32Precision,
                 "products of f32 of a graph on a GPU: ieee (default), or tf32 "
                 "on the matrix unit");
  app.add_option("--tile", options.tile,
                 "tile of attention that a graph is compiled with, as "
                 "q128_k64_w8_s1; heddle-compile --list-tiles lists them");
  app.add_option("--scan-chunks", options.scanChunks,
                 "chunks of time that scans of a graph are cut into; default: "
                 "as many as feed the GPU, 1: none")
      ->check(CLI::PositiveNumber);
  app.add_option("--sanitize", raw.sanitize,
                 "checks of the emulator: all (default), none, or of memcheck, "
                 "racecheck, initcheck, synccheck, joined by commas");
  app.add_option("--seed", raw.seed,
                 "order of warps and lanes on the emulator (0: natural)");
  app.add_option(
      "--max-findings", options.maxFindings,
      "findings that the emulator shows (0, the default: the first of "
      "each sanitizer)");
  app.add_option("--function", options.function,
                 "function to run, where there are several");
  auto repeated = [&](const char *name, std::vector<std::string> &values,
                      const char *help) {
    app.add_option(name, values, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  };
  repeated("--input", raw.inputs,
           "[NAME=]@FILE.npy or [NAME=]random:SEED; without a name: the next "
           "argument; arguments without --input are random");
  app.add_option("--inputs", raw.inputArchive,
                 "@FILE.npz or @FILE.safetensors with arguments by name, for "
                 "those without --input");
  app.add_option("--outputs", raw.outputArchive,
                 "@FILE.npz or @FILE.safetensors for all results, by their "
                 "heddle.result_name, else result0, result1, ...");
  repeated("-o,--output", raw.outputs,
           "@FILE.npy for the next result; - is standard output");
  repeated("--expected-output", raw.expected,
           "@FILE.npy that the next result is compared with");
  app.add_option("--check", raw.check,
                 "reference: compare with the reference device");
  app.add_option("--reference-mode", raw.referenceMode,
                 "exact (default, f64) or declared (rounds as the model says), "
                 "for --device=reference");
  CLI::Option *rtol =
      app.add_option("--rtol", raw.rtol, "relative tolerance per element");
  CLI::Option *atol =
      app.add_option("--atol", raw.atol, "absolute tolerance per element");
  app.add_option("--repeats", options.repeats, "timed runs after the first");
  app.add_option("--warmup", options.warmup, "runs before the timed ones (1)");
  app.add_option("--inner", options.inner,
                 "runs of a timed sample, which is their mean (1); 0: as many "
                 "as take 50 ms, at most 200");
  app.add_option("--threads", options.threads,
                 "workers; 0 (default): all cores")
      ->envname("HEDDLE_THREADS");
  app.add_flag(
      "--report{text}", raw.report,
      "also print signature, kernels, memory plan and, on the emulator, "
      "counters: text or json (JSON only on standard output)");
  app.add_flag("--check-launches", options.checkLaunches,
               "on a CUDA device, wait after every command, so that a failure "
               "names its kernel");
  app.add_flag("--serve", options.serve,
               "read requests as JSON, one a line, and answer each with a line "
               "of JSON; for benchmarks");
  app.add_flag("--list-devices", options.listDevices, "list the devices");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    exit = error.get_exit_code() == 0;
    if (exit) {
      app.exit(error);
      return {};
    }
    return Status::error(std::string(error.what()) + "; see heddle-run --help");
  }
  if (rtol->count())
    options.rtol = raw.rtol;
  if (atol->count())
    options.atol = raw.atol;
  return finish(raw, options);
}
