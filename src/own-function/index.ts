/** `palimpsest/own-function`: a session's own function in place of the durable workflow, as a room of an agent. */
export { ownFunction, type FunctionMethods, type OnCompactionOptions, type OwnFunctionExtension } from "./room.ts";
