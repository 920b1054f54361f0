/** A service of the probes alone: it has the kinds of calls that the agent's service has or will have. */
import { create, toBinary } from "@bufbuild/protobuf";
import { fileDesc, type GenService, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { base64Encode } from "@bufbuild/protobuf/wire";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
  type Int32ValueSchema,
  type StringValueSchema,
} from "@bufbuild/protobuf/wkt";

const INT = ".google.protobuf.Int32Value";
const STRING = ".google.protobuf.StringValue";

const PROTO = create(FileDescriptorProtoSchema, {
  name: "probe.proto",
  package: "probe",
  syntax: "proto3",
  dependency: ["google/protobuf/wrappers.proto"],
  service: [
    {
      name: "ProbeService",
      method: [
        { name: "Count", inputType: INT, outputType: STRING, serverStreaming: true },
        { name: "Wait", inputType: INT, outputType: STRING },
      ],
    },
  ],
});

export const ProbeService: GenService<{
  /** Counts to the number, one message for each. */
  count: { methodKind: "server_streaming"; input: typeof Int32ValueSchema; output: typeof StringValueSchema };
  /** Answers after so many milliseconds. */
  wait: { methodKind: "unary"; input: typeof Int32ValueSchema; output: typeof StringValueSchema };
}> = serviceDesc(
  fileDesc(base64Encode(toBinary(FileDescriptorProtoSchema, PROTO)), [file_google_protobuf_wrappers]),
  0,
);
