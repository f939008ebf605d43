import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const REDIS = '/usr/bin/redis-server'
const READY = /ready to accept connections/i
const START_MS = 20_000

/** The packages of each peer, in the versions of the quoted figures. */
const PACKAGES = {
  BullMQ: ['bullmq@6.7.0', 'ioredis@5'],
  'pg-boss': ['pg-boss@10.4.2'],
  'graphile-worker': ['graphile-worker@0.17.3'],
} as const

/** A durable queue that the service is compared with. */
export type PeerName = keyof typeof PACKAGES

/**
 * Installs the packages of a peer in a folder of their own; returns the folder.
 * @throws Error when npm cannot install them.
 */
export async function installPeer(folder: string, name: PeerName): Promise<string> {
  const packages = join(folder, `packages of ${name}`)
  mkdirSync(packages)
  writeFileSync(join(packages, 'package.json'), '{"private":true}')
  const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  await promisify(execFile)('npm', [...npm, ...PACKAGES[name]], { cwd: packages })
  return packages
}

/** A running server of a database. */
export interface DatabaseServer {
  /** The address for the driver. */
  url: string
  pid: number
  stop(): Promise<void>
}

/**
 * Starts Redis with a flush before each answer, on a socket in the folder.
 * @throws Error when Debian's package is not installed, or Redis does not start.
 */
export async function startRedis(folder: string): Promise<DatabaseServer> {
  if (!existsSync(REDIS)) throw new Error('Redis is not installed (apt-get install redis-server)')
  const data = join(folder, 'redis')
  mkdirSync(data)
  const url = join(data, 'redis.sock')
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const child = spawn(REDIS, ['--port', '0', '--unixsocket', url, '--dir', data, ...durable], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const limit = setTimeout(() => child.kill('SIGKILL'), START_MS)
  await new Promise<void>((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      if (READY.test(output)) resolve()
    })
    ended.then(() => reject(new Error(`Redis did not start: ${output}`)), reject)
  })
  clearTimeout(limit)
  child.stdout.removeAllListeners('data').resume()
  return {
    url,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
