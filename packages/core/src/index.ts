/** The messaging service without a framework: `createCore` opens the service on its database. */
export type { ApiKeys, KeyIdentity } from './api-keys/api-keys.ts'
export type { Viewer } from './api-keys/viewer.ts'
export type { Audit } from './audit/audit.ts'
export type { Actor } from './audit/entry.ts'
export type { Billing, Purchase } from './billing/billing.ts'
export type { Notification, PaymentProvider } from './billing/payment.ts'
export { createSandboxPayments, type SandboxPayments } from './billing/sandbox.ts'
export { createStripePayments, type StripeOptions } from './billing/stripe.ts'
export type { CountryRule } from './channels/country-rule.ts'
export type { Prices } from './channels/price.ts'
export type { Contacts } from './contacts/contacts.ts'
export type { Suppressions } from './contacts/suppressions.ts'
export type { Unsubscribe } from './contacts/unsubscribe.ts'
export type { Mail, Mailer, MailKind } from './contract/outside/mail.ts'
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
  Receipt,
  Received,
  ReceivedContent,
  Reply,
  Report,
  SendJob,
  Sink,
  SuppressionReason,
  Traits,
} from './contract/outside/provider.ts'
export { type Core, createCore, type Mails } from './core.ts'
export type { CoreOptions } from './core-options.ts'
export type { CreditAccount, Credits } from './credits/credits.ts'
export type { TermsChange } from './credits/terms.ts'
export type { Dispatcher } from './dispatch/dispatcher.ts'
export type { KeptMail } from './mail/sandbox-mailer.ts'
export type { Bulks } from './messages/bulk.ts'
export type { Messages } from './messages/messages.ts'
export type { SequenceLimit } from './messages/sequence-detector.ts'
export type { TimelineEntry } from './messages/timeline.ts'
export type { DispatchControl } from './operating/dispatch-control.ts'
export type { Recipients } from './operating/erasure.ts'
export type { Overviews } from './operating/overview.ts'
export type { ProviderDesk } from './operating/provider-desk.ts'
export type { SecretsAtRest } from './operating/secrets-at-rest.ts'
export { defineProvider } from './providers/defined/define-provider.ts'
export type {
  DefinedProvider,
  JobResults,
  ProviderDefinition,
  ProviderFault,
  ProviderTraits,
} from './providers/defined/definition.ts'
export type { ProviderModule, ProviderOption } from './providers/install.ts'
export type { ProviderSettings, ProviderSettingsInput } from './providers/registry.ts'
export type { Entry } from './rules/decide.ts'
export { type Log, type Runtime, systemRuntime } from './runtime/runtime.ts'
export { DELIVERY_OUTCOMES, type DeliveryOutcome, type Telemetry } from './runtime/telemetry.ts'
export type { TargetPolicy } from './webhooks/target.ts'
export type { Webhooks } from './webhooks/webhooks.ts'
export { type Revoked, SIGNUP_CREDITS_ON, type SignupCreditsOn } from './workspaces/verification.ts'
export type { Workspaces } from './workspaces/workspaces.ts'
