import { parentPort, workerData } from 'node:worker_threads'
import { systemRuntime } from '../../runtime.ts'
import { type Engine, openEngine } from './engine.ts'
import { type Answer, type Call, plainOf } from './engine-protocol.ts'
import type { Query } from './query.ts'

/** A cold transaction that waits for its next statement holds the writer: it must not do so for ever. */
const SILENCE_MAX_MS = 10_000

interface Transaction {
  query: Query
  /** Lets the writer's job end, which commits, or fails it. */
  end(commit: boolean): void
  /** Resolves when the writer has committed or rolled back. */
  ended: Promise<void>
  silence: NodeJS.Timeout
}

const { id: newId, random } = systemRuntime()
const transactions = new Map<number, Transaction>()
let engine: Engine | null = null

function tell(answer: Answer): void {
  parentPort?.postMessage(answer)
}

/** Opened by the first call, so that what goes wrong is answered and not a thread's death. */
function opened(): Engine {
  const { file } = workerData as { file: string }
  engine ??= openEngine(
    file,
    { newId, random },
    { onFailure: (error) => tell({ type: 'failure', error: plainOf(error) }) },
  )
  return engine
}

async function begin(id: number): Promise<number> {
  let end: (commit: boolean) => void = () => {}
  const outcome = new Promise<boolean>((resolve) => {
    end = resolve
  })
  return new Promise<number>((resolve, reject) => {
    const ended = opened()
      .transaction(async (query) => {
        const silence = setTimeout(() => end(false), SILENCE_MAX_MS)
        transactions.set(id, { query, end, ended, silence })
        resolve(id)
        if (!(await outcome)) throw new RolledBack()
      })
      .catch((error) => {
        reject(error)
        if (!(error instanceof RolledBack)) throw error
      })
      .finally(() => transactions.delete(id))
    // Whoever waits for the end hears of it; nobody may.
    ended.catch(() => {})
  })
}

class RolledBack extends Error {}

function transactionOf(id: number): Transaction {
  const transaction = transactions.get(id)
  if (!transaction) throw new Error('the transaction has ended')
  transaction.silence.refresh()
  return transaction
}

async function answer(call: Call): Promise<unknown> {
  switch (call.type) {
    case 'open':
      opened()
      return null
    case 'verb': {
      const run = opened()[call.name] as (argument: unknown) => Promise<unknown>
      return run(call.argument)
    }
    case 'claimMessages': {
      const { claim, routes } = call
      return opened().claimMessages({
        ...claim,
        providerOf: ({ channel, livemode }) => routes[`${channel} ${livemode}`] ?? 'sandbox',
      })
    }
    case 'begin':
      return begin(call.id)
    case 'query':
      return transactionOf(call.transaction).query(call.text, call.parameters, call.method)
    case 'end': {
      const { end, ended, silence } = transactionOf(call.transaction)
      clearTimeout(silence)
      end(call.commit)
      await ended
      return null
    }
  }
}

parentPort?.on('message', (call: Call) => {
  answer(call).then(
    (value) => tell({ type: 'value', id: call.id, value }),
    (error) => tell({ type: 'error', id: call.id, error: plainOf(error) }),
  )
})
