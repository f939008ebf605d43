import { type Child, type Handlers, startChild } from '../stage/child.ts'
import { cpuOfFamily } from '../stage/figures.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type ServiceHandlers, startService } from '../stage/service.ts'
import { openStage, type Stage } from '../stage/stage.ts'
import { type DatabaseServer, installPeer, PACKAGES, type PeerName, startRedis } from './peers.ts'
import type { ReceiverHandlers } from './processes/receiver.ts'

/** The requests of a peer's process. */
interface PeerHandlers extends Handlers {
  start(input: {
    name: PeerName
    database: string
    packages: string
    webhook_url: string
    secret: string
  }): { url: string }
}

/** The requests of a gateway's process. */
export interface GatewayHandlers extends Handlers {
  /** @param input.latency_ms the time until each answer */
  start(input: { latency_ms: number }): { url: string }
  /** The requests so far, those that were answered, and the different recipients in them. */
  taken(_: null): { requests: number; answered: number; different: number }
}

const PEER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A way from HTTP to a receiver of signed webhooks: the service or a peer, on its own database. */
export interface Path {
  url: string
  key: string
  receiver: Child<ReceiverHandlers>
  /** The process of the service; null for a peer. */
  service: Child<ServiceHandlers> | null
  /** Milliseconds of CPU so far, of its process and of its database's processes. */
  cpu(): Promise<number>
  end(): Promise<void>
}

/** The service on an engine, the service through a gateway, or a peer. */
export type PathName = 'SQLite' | 'PostgreSQL' | 'gateway' | PeerName

/** Starts a path with a stage of its own. @throws Error when a program or package that it needs is missing. */
export async function openPath(
  name: PathName,
  { node_args = [] }: { node_args?: string[] } = {},
): Promise<Path> {
  const stage = openStage()
  try {
    const receiver = startChild<ReceiverHandlers>(stage, 'bench/processes/receiver.ts')
    const { url: webhook_url } = await receiver.request('start', null)
    const database = await startDatabase(stage, name)
    const started = isPeer(name)
      ? await startPeer(stage, name, { database: database?.url ?? '', webhook_url })
      : await startService(stage, name, {
          dispatch: true,
          webhook_url,
          ...(database && { database_url: database.url }),
          ...(name === 'gateway' && { env: await startGateway(stage) }),
          node_args,
        })
    const { child, url, key, secret } = started
    await receiver.request('trust', secret)
    return {
      url,
      key,
      receiver,
      service: 'database' in started ? started.child : null,
      cpu: async () => (await child.usage()).cpu_ms + (database?.cpu() ?? 0),
      end: stage.close,
    }
  } catch (error) {
    await stage.close()
    throw error
  }
}

/** Opens the paths, which end with the stage; those that fail are in `failures`, with the reason. */
export async function openPaths(stage: Stage, names: readonly PathName[]) {
  const paths = new Map<PathName, Path>()
  const failures = new Map<PathName, string>()
  for (const name of names) {
    try {
      const path = await openPath(name)
      stage.atEnd(path.end)
      paths.set(name, path)
    } catch (error) {
      failures.set(name, (error as Error).message)
    }
  }
  return { paths, failures }
}

/**
 * Measures the paths in turns; the first round of each warms up. A path whose round fails moves to `failures`, and the
 * others continue.
 */
export async function inRounds<Round>(
  { paths, failures }: Awaited<ReturnType<typeof openPaths>>,
  rounds: number,
  measure: (path: Path) => Promise<Round>,
): Promise<Map<PathName, Round[]>> {
  const measured = new Map<PathName, Round[]>()
  for (let round = 0; round <= rounds; round++) {
    for (const [name, path] of paths) {
      try {
        const one = await measure(path)
        if (round > 0) measured.set(name, [...(measured.get(name) ?? []), one])
      } catch (error) {
        failures.set(name, (error as Error).message)
        paths.delete(name)
        measured.delete(name)
        await path.end()
      }
    }
  }
  return measured
}

function isPeer(name: PathName): name is PeerName {
  return name in PACKAGES
}

async function startDatabase(stage: Stage, name: PathName): Promise<DatabaseServer | null> {
  if (name === 'BullMQ') return startRedis(stage)
  if (name === 'SQLite' || name === 'gateway') return null
  const { url, pid } = await startPostgres({ stage })
  return { url, cpu: () => cpuOfFamily(pid()) }
}

async function startPeer(
  stage: Stage,
  name: PeerName,
  { database, webhook_url }: { database: string; webhook_url: string },
) {
  const packages = await installPeer(stage.folder, name)
  const child = startChild<PeerHandlers>(stage, 'bench/processes/peer.mjs')
  const secret = PEER_SECRET
  const { url } = await child.request('start', { name, database, packages, webhook_url, secret })
  return { child, url, key: '-', secret }
}

/** Starts a gateway that reports by callback; returns the settings of a service that sends through it. */
async function startGateway(stage: Stage) {
  const gateway = startChild<GatewayHandlers>(stage, 'bench/processes/gateway.mjs')
  const { url } = await gateway.request('start', { latency_ms: 0 })
  const provider = {
    name: 'gateway',
    type: 'http',
    channels: ['sms'],
    senders: { sms: ['+14155550190'] },
    idempotent: true,
    send: {
      url: `${url}/messages`,
      body: { to: '{{to}}', text: '{{text}}', callback: '{{callback_url}}' },
    },
    answer: { id: '/id' },
    callback: {
      receipts: {
        provider_message_id: '/id',
        status: '/state',
        statuses: { DELIVERED: 'delivered' },
      },
    },
  }
  return { SVC_PROVIDERS: JSON.stringify([provider]) }
}
