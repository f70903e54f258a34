export { inference, inferenceBuckets, metricNames, names } from './conventions.ts';
export { openTraces, type TraceOptions, type Traces } from './open-traces.ts';
