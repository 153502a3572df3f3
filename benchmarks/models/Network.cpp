//===- Network.cpp - the functions of a row -----------------===//

#include "models/Network.h"
#include "models/Training.h"

using namespace mlir;

namespace heddle::bench {

Status buildNetwork(MLIRContext &context, const Network &network, DType dtype,
                    const ModelOp &op, Model &model) {
  GraphBuilder graph(context);
  Layers layers(graph, floatType(context, dtype));
  if (op.train) {
    buildTraining(layers, network, op, model);
  } else {
    network.parameters(layers);
    network.inputs(layers);
    model.function = "forward";
    graph.begin(model.function);
    graph.end(network.forward(layers));
  }
  model.params = layers.numParameters;
  model.leaves = layers.leaves.size();
  model.module = graph.finish();
  if (!model.module)
    return Status::error("expected a graph that verifies, the verifier "
                         "refused it; see its diagnostic");
  return Status();
}

} // namespace heddle::bench
