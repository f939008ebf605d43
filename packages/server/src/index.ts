/** The HTTP API: `startServer` runs the whole service, `buildApp` puts the API over a core of yours. */
export { type AppOptions, buildApp } from './app.ts'
export { type Config, ConfigError, readConfig, urlOf } from './config.ts'
export { priceText } from './pages/payment-html.ts'
export { type RunningServer, startServer } from './server.ts'
export {
  SETTING_GROUPS,
  SETTINGS,
  type Setting,
  type SettingGroup,
  type SettingKind,
} from './settings.ts'
export { warnOfDatabase, warnOfSettings } from './settings-warnings.ts'
export { targetsOf } from './webhook-targets.ts'
