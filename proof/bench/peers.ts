import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { finish, start } from '../stage/command.ts'
import { cpuOfFamily } from '../stage/figures.ts'
import type { Stage } from '../stage/stage.ts'

const REDIS = '/usr/bin/redis-server'
const READY = /ready to accept connections/i
const START_MS = 20_000

/** The packages of each peer, in the versions of the quoted figures. */
export const PACKAGES = {
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
  await finish(['npm', ...npm, ...PACKAGES[name]], { cwd: packages, env: process.env })
  return packages
}

/** A running server of a database. */
export interface DatabaseServer {
  /** The address for the driver. */
  url: string
  /** Milliseconds of CPU so far, of all its processes. */
  cpu(): number
}

/**
 * Starts Redis with a flush before each answer, on a socket in the folder of the stage.
 * @throws Error when Debian's package is not installed, or Redis does not start.
 */
export async function startRedis(stage: Stage): Promise<DatabaseServer> {
  if (!existsSync(REDIS)) throw new Error('Redis is not installed (apt-get install redis-server)')
  const data = join(stage.folder, 'redis')
  mkdirSync(data)
  const url = join(data, 'redis.sock')
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const redis = start([REDIS, '--port', '0', '--unixsocket', url, '--dir', data, ...durable], {
    cwd: data,
    env: process.env,
  })
  stage.atEnd(() => redis.stop())
  await redis.until(READY, START_MS)
  return { url, cpu: () => cpuOfFamily(redis.pid) }
}
