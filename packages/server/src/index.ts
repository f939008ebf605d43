/**
 * The HTTP API: `startServer` runs the whole service, `buildApp` makes a server over your own core, `svc` (Fastify) and
 * `createHandler` (Express, Hono, Next.js) serve the API inside your own server.
 */
export type { ApiOptions } from './api.ts'
export { type AppOptions, buildApp } from './app.ts'
export { inletCertificate } from './compat/smtp/certificate.ts'
export { inletSettings } from './compat/smtp/settings.ts'
export type { ConsoleOperator, ConsoleUser } from './console-api/access.ts'
export type { ConsoleOptions } from './console-api/console.ts'
export { createHandler, type Handler, type HandlerOptions } from './hosted/handler.ts'
export type { HostedOptions } from './hosted/hosted-api.ts'
export {
  type CreateConsoleOptions,
  createConsole,
  type SvcPluginOptions,
  svc,
} from './hosted/plugin.ts'
export { onProcessStop } from './one-of-several.ts'
export { priceText } from './pages/payment-html.ts'
export { type RunningServer, startServer } from './server.ts'
export { type Config, ConfigError, readConfig, urlOf } from './settings/config.ts'
export { nameServersOf } from './settings/name-servers.ts'
export {
  SETTING_GROUPS,
  SETTINGS,
  type Setting,
  type SettingGroup,
  type SettingKind,
  type SettingType,
} from './settings/settings.ts'
export { warnOfDatabase, warnOfSettings } from './settings/warnings.ts'
export { targetsOf } from './settings/webhook-targets.ts'
