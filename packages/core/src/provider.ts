/** Providers of an embedding program: the part of `@svc/core` that the module of a provider needs in each thread. */
export type {
  CallbackReading,
  CallbackRequest,
  Listening,
  LookupJob,
  LookupResult,
  MessageRef,
  Outcome,
  Provider,
  ProviderContext,
  ProviderTemplate,
  Receipt,
  Received,
  ReceivedContent,
  Reply,
  Report,
  SendJob,
  Sink,
  SuppressionReason,
  TemplateList,
  Traits,
} from './contract/outside/provider.ts'
export { defineProvider } from './providers/defined/define-provider.ts'
export type {
  DefinedProvider,
  JobResults,
  ProviderDefinition,
  ProviderFault,
  ProviderTraits,
} from './providers/defined/definition.ts'
