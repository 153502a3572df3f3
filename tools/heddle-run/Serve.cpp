//===- Serve.cpp - runs on request ----------------------------------------===//

#include "Session.h"

#include <iostream>
#include <optional>

using namespace heddle;
using namespace heddle::run;

/// Takes a request's entries over; says which one is wrong.
static Status readRequest(const Json &request, Options &options) {
  if (!request.is_object() || !request.contains("model"))
    return Status::error("expected an object with \"model\" as a request");
  for (auto it = request.begin(); it != request.end(); ++it) {
    const std::string &key = it.key();
    const Json &value = it.value();
    bool known = true, fits = true;
    auto string = [&](std::string &out) {
      if ((fits = value.is_string()))
        out = value.get<std::string>();
    };
    auto count = [&](int &out) {
      if ((fits = value.is_number_integer() && value.get<int64_t>() >= 0))
        out = value.get<int>();
    };
    auto number = [&](std::optional<double> &out) {
      if ((fits = value.is_number() && value.get<double>() >= 0))
        out = value.get<double>();
    };
    auto strings = [&](std::vector<std::string> &out) {
      fits = value.is_array();
      for (const Json &one : value) {
        fits &= one.is_string();
        if (fits)
          out.push_back(one.get<std::string>());
      }
    };
    if (key == "model")
      string(options.model);
    else if (key == "function")
      string(options.function);
    else if (key == "expected")
      strings(options.expected);
    else if (key == "inputs") {
      std::vector<std::string> texts;
      strings(texts);
      for (const std::string &text : texts)
        if (Status s = parseInput(text, options.inputs.emplace_back()); !s)
          return s;
    } else if (key == "rtol")
      number(options.rtol);
    else if (key == "atol")
      number(options.atol);
    else if (key == "repeats")
      count(options.repeats);
    else if (key == "warmup")
      count(options.warmup);
    else if (key == "inner")
      count(options.inner);
    else
      known = false;
    if (!known || !fits)
      return Status::error((known ? "expected another value of \""
                                  : "expected an entry that is known, got \"") +
                           key + "\": " + value.dump());
  }
  return {};
}

Status heddle::run::serve(const Options &options) {
  std::optional<Outcome> last;
  for (std::string line; std::getline(std::cin, line);) {
    Options mine = options;
    Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    Status status = readRequest(request, mine);
    Outcome outcome;
    if (status.ok())
      status = runOnce(mine, outcome);
    Json answer = status.ok() ? outcomeJson(mine, outcome)
                              : Json{{"error", status.message}};
    std::cout << answer.dump() << std::endl;
    last = std::move(outcome);
  }
  return {};
}
