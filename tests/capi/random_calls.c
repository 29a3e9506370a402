// Random sequences of calls, right and wrong ones, on graphs, operations, tensors and sessions: a status each, and no crash.
//
//     random_calls [sequences [seed]]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"

enum { GRAPHS = 3, OPERATIONS = 24, TENSORS = 6, SESSIONS = 3, HANDLES = 6, CALLS = 60 };

static unsigned long long state;
static unsigned random_below(unsigned n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % n;
}

static TF_Status* s;
static TF_Graph* graphs[GRAPHS];
static TF_Operation* operations[GRAPHS][OPERATIONS];
static int num_operations[GRAPHS];
static TF_Tensor* tensors[TENSORS];
static TF_Session* sessions[SESSIONS];
static int graph_of[SESSIONS];
static TFE_Context* context;
static TFE_TensorHandle* handles[HANDLES];

static const char* const ops[] = {"Placeholder", "Const", "Add", "AddV2", "Mul", "MatMul", "Neg", "Relu", "Sum", "Shape", "Reshape", "Concat",
    "ConcatV2", "Pack", "Split", "Cast", "NoOp", "Identity", "Switch", "Merge", "Enter", "VarHandleOp", "ReadVariableOp", "AssignVariableOp",
    "RandomUniform", "Softmax", "ArgMax", "Gather", "StringJoin", "Where", "FIFOQueueV2", "Nothing", "f", ""};
static const char* const attrs[] = {"dtype", "T", "shape", "value", "N", "axis", "DstT", "SrcT", "Tidx", "_mine", "transpose_a", "container", "nothing"};
#define PICK(list) (list)[random_below(sizeof(list) / sizeof((list)[0]))]

static TF_DataType any_type(void) {
  static const int types[] = {1, 1, 1, 1, 1, 1, 3, 9, 10, 7, 2, 8, 20, 0, 99, -1};
  return (TF_DataType)PICK(types);
}

static TF_Output any_output(int g) {
  TF_Output o = {NULL, 0};
  int other = random_below(20) == 0 ? (int)random_below(GRAPHS) : g;
  if (num_operations[other] > 0 && random_below(15) != 0) o.oper = operations[other][random_below((unsigned)num_operations[other])];
  o.index = random_below(8) == 0 ? (int)random_below(4) - 1 : 0;
  return o;
}

static void new_tensor(void) {
  unsigned at = random_below(TENSORS);
  TF_DeleteTensor(tensors[at]);
  int64_t dims[3];
  int rank = (int)random_below(3);
  size_t elements = 1;
  for (int i = 0; i < rank; i++) elements *= (size_t)(dims[i] = random_below(4));
  TF_DataType type = any_type();
  size_t size = type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(type);
  tensors[at] = TF_AllocateTensor(type, dims, rank, elements * size + (random_below(9) == 0 ? 3 : 0));
  if (tensors[at] != NULL && type != TF_STRING) memset(TF_TensorData(tensors[at]), (int)random_below(3), TF_TensorByteSize(tensors[at]));
  if (tensors[at] != NULL && random_below(30) == 0) TF_SetShape(tensors[at], (int64_t[]){7, 7}, 2);
}

static void new_operation(int g) {
  char name[32];
  snprintf(name, sizeof name, random_below(12) == 0 ? "n" : "n%d_%u", num_operations[g], random_below(1000));
  TF_OperationDescription* d = TF_NewOperation(graphs[g], PICK(ops), name);
  for (unsigned i = random_below(4); i > 0; i--) {
    TF_Output inputs[] = {any_output(g), any_output(g), any_output(g)};
    switch (random_below(6)) {
      case 0: TF_AddInputList(d, inputs, (int)random_below(4)); break;
      case 1: TF_AddControlInput(d, inputs[0].oper); break;
      default: TF_AddInput(d, inputs[0]);
    }
  }
  for (unsigned i = random_below(4); i > 0; i--) {
    const char* attr = PICK(attrs);
    int64_t dims[] = {(int64_t)random_below(4) - 1, 2};
    TF_DataType types[] = {any_type(), any_type()};
    switch (random_below(9)) {
      case 0: TF_SetAttrInt(d, attr, (int64_t)random_below(5) - 1); break;
      case 1: TF_SetAttrShape(d, attr, dims, (int)random_below(4) - 1 > 2 ? 2 : (int)random_below(3) - 1); break;
      case 2: TF_SetAttrTensor(d, "value", tensors[random_below(TENSORS)], s); break;
      case 3: TF_SetAttrBool(d, attr, 1); break;
      case 4: TF_SetAttrString(d, attr, "text", random_below(5)); break;
      case 5: TF_SetAttrTypeList(d, random_below(2) ? "component_types" : attr, types, (int)random_below(3)); break;
      case 6: TF_SetAttrFuncName(d, attr, "f", 1); break;
      default: TF_SetAttrType(d, random_below(2) ? "dtype" : attr, any_type());
    }
  }
  TF_Operation* made = TF_FinishOperation(d, s);
  if (made != NULL && num_operations[g] < OPERATIONS) operations[g][num_operations[g]++] = made;
}

// One that is right, if its inputs happen to be.
static void right_operation(int g) {
  char name[32];
  snprintf(name, sizeof name, "r%d_%u", num_operations[g], random_below(100000));
  TF_Output a = any_output(g), b = any_output(g);
  TF_OperationDescription* d = NULL;
  switch (random_below(5)) {
    case 0:
      d = TF_NewOperation(graphs[g], "Placeholder", name);
      TF_SetAttrType(d, "dtype", TF_FLOAT);
      break;
    case 1: {
      TF_Tensor* value = tensors[random_below(TENSORS)];
      d = TF_NewOperation(graphs[g], "Const", name);
      TF_SetAttrTensor(d, "value", value, s);
      TF_SetAttrType(d, "dtype", TF_TensorType(value));
      break;
    }
    case 2:
      d = TF_NewOperation(graphs[g], random_below(2) ? "Neg" : "Square", name);
      TF_AddInput(d, a);
      break;
    default: {
      static const char* const binary[] = {"AddV2", "Mul", "Maximum", "MatMul", "Less"};
      d = TF_NewOperation(graphs[g], PICK(binary), name);
      TF_AddInput(d, a);
      TF_AddInput(d, b);
    }
  }
  TF_Operation* made = TF_FinishOperation(d, s);
  if (made != NULL && num_operations[g] < OPERATIONS) operations[g][num_operations[g]++] = made;
}

static void ask(int g) {
  TF_Output o = any_output(g);
  char text[64];
  int64_t ints[4];
  TF_Output ports[4];
  TF_Input consumers[4];
  TF_Operation* control[4];
  TF_OperationName(o.oper);
  TF_OperationOutputType(o);
  TF_OperationInputType((TF_Input){o.oper, o.index});
  TF_OperationInput((TF_Input){o.oper, o.index});
  TF_OperationAllInputs(o.oper, ports, 4);
  TF_OperationOutputConsumers(o, consumers, 4);
  TF_OperationGetControlInputs(o.oper, control, 4);
  TF_OperationGetControlOutputs(o.oper, control, 4);
  TF_GraphGetTensorShape(graphs[g], o, ints, 4, s);
  TF_GraphSetTensorShape(graphs[g], o, (int64_t[]){(int64_t)random_below(3) - 1, 2}, (int)random_below(3), s);
  const char* attr = PICK(attrs);
  TF_OperationGetAttrMetadata(o.oper, attr, s);
  TF_OperationGetAttrString(o.oper, attr, text, sizeof text, s);
  TF_OperationGetAttrShape(o.oper, attr, ints, 4, s);
  TF_OperationGetAttrIntList(o.oper, attr, ints, 4, s);
  TF_Tensor* value = NULL;
  if (TF_TryEvaluateConstant(graphs[g], o, &value, s)) TF_DeleteTensor(value);
}

static void run(void) {
  unsigned at = random_below(SESSIONS);
  if (sessions[at] == NULL) return;
  int g = graph_of[at];
  TF_Output feeds[2] = {any_output(g), any_output(g)}, fetches[2] = {any_output(g), any_output(g)};
  TF_Tensor* values[2] = {tensors[random_below(TENSORS)], tensors[random_below(TENSORS)]};
  TF_Tensor* results[2] = {NULL, NULL};
  const TF_Operation* targets[1] = {any_output(g).oper};
  // A queue that nobody fills would be waited for.
  TF_Buffer* limit = TF_NewBufferFromString("\x10\x14", 2);
  TF_SessionRun(sessions[at], limit, feeds, values, (int)random_below(3), fetches, results, (int)random_below(3), targets, (int)random_below(2), NULL, s);
  TF_DeleteBuffer(limit);
  for (int i = 0; i < 2; i++) {
    if (results[i] == NULL) continue;
    unsigned to = random_below(TENSORS);
    TF_DeleteTensor(tensors[to]);
    tensors[to] = results[i];
  }
}

static void change_graph(int g) {
  TF_Output y = any_output(g), x = any_output(g), dx;
  TF_Buffer* def = TF_NewBuffer();
  switch (random_below(5)) {
    case 0: TF_AddGradients(graphs[g], &y, 1, &x, 1, NULL, s, &dx); break;
    case 1: {
      TF_GraphToGraphDef(graphs[g], def, s);
      TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
      if (random_below(3)) TF_ImportGraphDefOptionsSetPrefix(options, "p");
      TF_ImportGraphDefOptionsSetUniquifyPrefix(options, 1);
      TF_ImportGraphDefOptionsAddInputMapping(options, "n", 0, x);
      TF_GraphImportGraphDef(graphs[random_below(GRAPHS)], def, options, s);
      TF_DeleteImportGraphDefOptions(options);
      break;
    }
    case 2: {
      TF_Function* f = TF_GraphToFunction(graphs[g], "f", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, s);
      if (f != NULL) TF_GraphCopyFunction(graphs[random_below(GRAPHS)], f, random_below(2) ? f : NULL, s);
      TF_DeleteFunction(f);
      break;
    }
    case 3: {
      TF_Output outputs[1];
      TF_WhileParams loop = TF_NewWhile(graphs[g], &x, 1, s);
      if (TF_GetCode(s) != TF_OK) break;
      loop.name = "loop";
      loop.cond_output = loop.cond_inputs[0];
      loop.body_outputs[0] = random_below(2) ? loop.body_inputs[0] : loop.cond_inputs[0];
      if (random_below(3)) TF_FinishWhile(&loop, s, outputs);
      else TF_AbortWhile(&loop);
      break;
    }
    default: TF_GraphVersions(graphs[g], def, s);
  }
  TF_DeleteBuffer(def);
}

static void change_session(int g) {
  unsigned at = random_below(SESSIONS);
  if (sessions[at] == NULL) {
    sessions[at] = TF_NewSession(graphs[g], NULL, s);
    graph_of[at] = g;
  } else if (random_below(3) == 0) {
    TF_CloseSession(sessions[at], s);
  } else if (random_below(2) == 0) {
    TF_DeleteSession(sessions[at], s);
    sessions[at] = NULL;
  }
}

static void execute(void) {
  static const char* const eager[] = {"Add", "MatMul", "Neg", "Pack", "Sum", "Shape", "Cast", "Reshape", "Split", "Concat", "Identity", "Where"};
  unsigned at = random_below(HANDLES);
  if (handles[at] == NULL) {
    TF_Tensor* t = tensors[random_below(TENSORS)];
    if (t != NULL) handles[at] = TFE_NewTensorHandle(t, s);
    return;
  }
  TFE_Op* op = TFE_NewOp(context, PICK(eager), s);
  if (op == NULL) return;
  for (unsigned i = random_below(4); i > 0; i--) {
    TFE_TensorHandle* list[] = {handles[at], handles[random_below(HANDLES)]};
    if (random_below(4) == 0) TFE_OpAddInputList(op, list, 2, s);
    else TFE_OpAddInput(op, list[random_below(2)], s);
  }
  if (random_below(3) == 0) TFE_OpSetAttrType(op, PICK(attrs), any_type());
  if (random_below(3) == 0) TFE_OpSetAttrInt(op, random_below(2) ? "num_split" : PICK(attrs), (int64_t)random_below(4) - 1);
  TFE_TensorHandle* results[4];
  int count = 4;
  TFE_Execute(op, results, &count, s);
  if (TF_GetCode(s) == TF_OK) {
    for (int i = 0; i < count; i++) {
      if (i == 0) {
        TFE_DeleteTensorHandle(handles[at]);
        handles[at] = results[0];
      } else {
        TFE_DeleteTensorHandle(results[i]);
      }
    }
    TF_Tensor* value = TFE_TensorHandleResolve(handles[at], s);
    TF_DeleteTensor(value);
  }
  TFE_DeleteOp(op);
}

int main(int argc, char** argv) {
  int sequences = argc > 1 ? atoi(argv[1]) : 1000;
  unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  long codes[20] = {0};
  s = TF_NewStatus();
  context = TFE_NewContext(NULL, s);
  for (int i = 0; i < sequences; i++) {
    // One number repeats one sequence.
    state = (seed + (unsigned long long)i) * 0x9e3779b97f4a7c15ull | 1;
    if (getenv("CAPI_VERBOSE")) fprintf(stderr, "sequence %llu\n", seed + (unsigned long long)i);
    for (int g = 0; g < GRAPHS; g++) graphs[g] = TF_NewGraph();
    memset(num_operations, 0, sizeof num_operations);
    for (int call = 0; call < CALLS; call++) {
      int g = (int)random_below(GRAPHS);
      switch (random_below(10)) {
        case 0: new_tensor(); break;
        case 1: ask(g); break;
        case 2: run(); break;
        case 3: change_graph(g); break;
        case 4: change_session(g); break;
        case 5: execute(); break;
        case 6: new_operation(g); break;
        default: right_operation(g);
      }
      int code = TF_GetCode(s);
      codes[code >= 0 && code < 20 ? code : 19]++;
    }
    // In any order.
    int first = (int)random_below(2);
    for (int pass = 0; pass < 2; pass++) {
      for (int g = 0; g < GRAPHS && pass == first; g++) TF_DeleteGraph(graphs[g]);
      for (int at = 0; at < SESSIONS && pass != first; at++) {
        TF_DeleteSession(sessions[at], s);
        sessions[at] = NULL;
      }
    }
    for (int at = 0; at < TENSORS; at++) {
      TF_DeleteTensor(tensors[at]);
      tensors[at] = NULL;
    }
    for (int at = 0; at < HANDLES; at++) {
      TFE_DeleteTensorHandle(handles[at]);
      handles[at] = NULL;
    }
  }
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
  printf("%d sequences", sequences);
  for (int i = 0; i < 20; i++) if (codes[i]) printf(", code %d: %ld", i, codes[i]);
  printf("\n");
  return codes[TF_INTERNAL] != 0;
}
