/** The HTTP API: `startServer` runs the whole service, `buildApp` puts the API over your own core. */
export { type AppOptions, buildApp } from './app.ts'
export { priceText } from './pages/payment-html.ts'
export { type RunningServer, startServer } from './server.ts'
export { type Config, ConfigError, readConfig, urlOf } from './settings/config.ts'
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
