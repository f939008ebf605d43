import { ConfigError } from './config-error.ts'

/** Where the sockets that a service is started with begin. */
const FIRST = 3

/**
 * The descriptor of the socket that this process was started with, already listening; null where there is none. Whoever
 * holds it keeps it open while the service restarts, so that who connects meanwhile waits and is not refused.
 * Source: sd_listen_fds(3); for another process than `pid` it is not meant.
 * @throws ConfigError for several sockets: the service listens on one.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv, pid = process.pid): number | null {
  if (env.LISTEN_FDS === undefined || Number(env.LISTEN_PID) !== pid) return null
  if (env.LISTEN_FDS === '1') return FIRST
  throw new ConfigError(
    `LISTEN_FDS must be 1: svc listens on a single socket, got "${env.LISTEN_FDS}"`,
  )
}
