import type { AddressInfo } from 'node:net'
import { type Core, createCore, systemRuntime } from '@svc/core'
import { pino } from 'pino'
import { buildApp } from './app.ts'
import { type Config, urlOf } from './config.ts'
import { logOptions } from './log.ts'

export interface RunningServer {
  url: string
  core: Core
  /** Stops accepting, sees what is under way to its end, and closes the database. */
  close(): Promise<void>
}

/**
 * Opens the service on its database, listens, and begins to dispatch.
 * @param dev relaxes what a production server never may: webhooks to plain http.
 * @throws Error when the address is taken or another process serves this database.
 */
export async function startServer({
  config,
  dev = false,
  log_level = config.log_level,
}: {
  config: Config
  dev?: boolean
  log_level?: string
}): Promise<RunningServer> {
  const logger = pino(logOptions(log_level))
  const runtime = systemRuntime(logger)
  const core = await createCore({
    database_url: config.database_url,
    signup_credits: config.signup_credits,
    webhook_targets: { allow_http: dev || config.webhook_allow_http },
    runtime,
    // Nothing can be promised any more; whoever watches the process starts it again.
    onFailure: (error) => {
      logger.fatal({ err: error }, 'the database failed')
      process.exit(1)
    },
  })
  try {
    const jwt_secret = config.jwt_secret ?? (await core.secret('jwt'))
    const app = await buildApp(core, {
      config: { ...config, jwt_secret },
      logger,
      newRequestId: runtime.id,
    })
    await core.startDispatch()
    await app.listen({ host: config.host, port: config.port })
    const { port } = app.server.address() as AddressInfo
    const url = urlOf(config.host, port)
    logger.info({ url }, 'listening')
    return {
      url,
      core,
      async close() {
        await app.close()
        await core.close()
        logger.info({}, 'stopped')
      },
    }
  } catch (error) {
    await core.close({ grace_ms: 0 })
    throw error
  }
}
