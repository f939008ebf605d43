/** The HTTP API: `startServer` runs the whole service, `buildApp` puts the API over a core of yours. */
export { type AppOptions, buildApp } from './app.ts'
export { type Config, ConfigError, readConfig } from './config.ts'
export { priceText } from './pages/payment-html.ts'
export { type RunningServer, startServer } from './server.ts'
