export * from './acts.ts';
export * from './models.ts';
export * from './overview.ts';
export * from './cells.ts';
export * from './providers.ts';
export * from './response-detail.ts';
export * from './response-rows.ts';
export * from './session.ts';
export * from './tenants.ts';
export * from './webhooks.ts';
export {
  type Counted,
  countedSchema,
  type Mode,
  modes,
} from './values.ts';
