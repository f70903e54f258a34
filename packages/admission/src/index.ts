export {
  accept,
  type AcceptLimits,
  type AcceptRequest,
  type AcceptResult,
  type RequestRate,
} from './accept.ts';
