import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { CHANNELS } from '../../contract/content.ts'
import { gather } from '../gather.ts'
import type { MessageClaim } from '../storage.ts'
import { BATCH_MAX, type Engine } from './engine.ts'
import { type Answer, type Call, errorFrom, type Routes } from './engine-protocol.ts'
import { createPacer } from './pacer.ts'
import type { Query } from './query.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * An engine in a thread of its own.
 * @throws Error when the file cannot be opened; a thread that ends later fails all calls and is told to `onFailure`.
 */
export async function startEngine(
  file: string,
  { onFailure }: { onFailure: (error: Error) => void },
): Promise<Engine> {
  const worker = new Worker(threadFile(), { workerData: { file }, execArgv: [] })
  const waiting = new Map<number, Waiting>()
  let lastCall = 0
  let ended: Error | null = null

  function call<T>(make: (id: number) => Call): Promise<T> {
    if (ended) return Promise.reject(ended)
    lastCall += 1
    const id = lastCall
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
      worker.postMessage(make(id))
    })
  }

  function end(error: Error): void {
    ended ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  worker.on('message', (answer: Answer) => {
    if (answer.type === 'failure') return onFailure(errorFrom(answer.error))
    const one = waiting.get(answer.id)
    waiting.delete(answer.id)
    if (answer.type === 'error') one?.reject(errorFrom(answer.error))
    else one?.resolve(answer.value)
  })
  worker.on('error', (error) => {
    end(error)
    onFailure(error)
  })
  worker.on('exit', () => end(new Error('the database is closed')))

  await call((id) => ({ type: 'open', id }))

  const verb = <Item, Result>(name: 'accept' | 'settle' | 'recordDeliveries') => {
    const pace = createPacer()
    const run = (items: readonly Item[]) =>
      call<Result[]>((id) => ({ type: 'verb', id, name, argument: items }))
    return gather(run, pace.run, { batch_max: BATCH_MAX, onJoin: pace.grew })
  }

  return {
    accept: verb('accept'),
    settle: verb('settle'),
    recordDeliveries: verb('recordDeliveries'),
    claimMessages: ({ providerOf, ...claim }) =>
      call((id) => ({ type: 'claimMessages', id, claim, routes: routesOf(providerOf) })),
    claimDeliveries: (claim) =>
      call((id) => ({ type: 'verb', id, name: 'claimDeliveries', argument: claim })),
    transaction: (work) => transact(call, work),
    takeDispatch: () => call((id) => ({ type: 'verb', id, name: 'takeDispatch', argument: null })),
    releaseDispatch: () =>
      call((id) => ({ type: 'verb', id, name: 'releaseDispatch', argument: null })),
    async close() {
      await call((id) => ({ type: 'verb', id, name: 'close', argument: null }))
      end(new Error('the database is closed'))
      await worker.terminate()
    },
  }
}

/** A transaction whose statements come from here and run there, while the writer there waits for the next. */
async function transact<T>(
  call: <R>(make: (id: number) => Call) => Promise<R>,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const transaction = await call<number>((id) => ({ type: 'begin', id }))
  const query: Query = (text, parameters, method) =>
    call((id) => ({ type: 'query', id, transaction, text, parameters, method }))
  try {
    const value = await work(query)
    await call((id) => ({ type: 'end', id, transaction, commit: true }))
    return value
  } catch (error) {
    // Whether or not the end arrives, what counts is why it ended.
    await call((id) => ({ type: 'end', id, transaction, commit: false })).catch(() => {})
    throw error
  }
}

/** A function cannot cross the border; what it says of every kind of message can. */
function routesOf(providerOf: MessageClaim['providerOf']): Routes {
  const routes: Routes = {}
  for (const channel of CHANNELS) {
    for (const livemode of [true, false]) {
      routes[`${channel} ${livemode}`] = providerOf({ channel, livemode })
    }
  }
  return routes
}

/** The built thread. Node 20 cannot run one from TypeScript, so sources use the build's too. */
function threadFile(): string {
  for (const place of [
    './engine-thread.js',
    './storage/sqlite/engine-thread.js',
    '../../../dist/storage/sqlite/engine-thread.js',
  ]) {
    const file = fileURLToPath(new URL(place, import.meta.url))
    if (existsSync(file)) return file
  }
  throw new Error(
    'storage/sqlite/engine-thread.js is missing: build @svc/core, or set threads to 0',
  )
}
