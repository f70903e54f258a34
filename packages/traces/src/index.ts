export { openTraces, type TraceOptions, type Traces } from './open-traces.ts';
