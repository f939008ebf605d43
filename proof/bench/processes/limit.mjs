import { createRequire } from 'node:module'
import { answer } from '../../stage/answer.mjs'

// The framework and the engine of the service, with the settings of the service's connection.
const fastify = createRequire(new URL('../../../packages/server/package.json', import.meta.url))(
  'fastify',
)
const core = createRequire(new URL('../../../packages/core/package.json', import.meta.url))
const Sqlite = core(Number(process.versions.napi) < 10 ? 'better-sqlite3-12' : 'better-sqlite3')

const PRICE = 1
const SCHEMA = `
  create table account (id text primary key, balance integer not null) strict, without rowid;
  create table message (
    id text primary key, account_id text not null, channel text not null, recipient text not null,
    content text not null, status text not null, created_at integer not null
  ) strict, without rowid;
  create table entry (
    id text primary key, account_id text not null, message_id text not null,
    amount integer not null, balance_after integer not null, created_at integer not null
  ) strict, without rowid;
  create table queue (message_id text primary key, due_at integer not null) strict, without rowid;
  insert into account values ('account', 1000000000000);
`

answer({
  /**
   * The least that an honest accept must do: requests that wait together share one flushed commit with message, ledger entry,
   * queue row and balance, and the answers follow it. It has no key, no price list, no idempotency and no events.
   */
  async start({ file }) {
    const store = openStore(file)
    const app = fastify()
    app.post('/api/v1/messages/send', async (request, reply) => {
      const message = await store.accept(request.body)
      reply.code(201)
      return {
        success: true,
        data: {
          message_id: message.id,
          status: 'queued',
          credits_used: PRICE,
          created_at: new Date(message.at).toISOString(),
        },
      }
    })
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }) }
  },
})

function openStore(file) {
  const connection = new Sqlite(file)
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'cache_size = -65536',
    'wal_autocheckpoint = 8000',
  ]) {
    connection.pragma(pragma)
  }
  connection.exec(SCHEMA)
  const balanceOf = connection.prepare('select balance from account where id = ?').pluck()
  const setBalance = connection.prepare('update account set balance = ? where id = ?')
  const addMessage = connection.prepare("insert into message values (?, ?, ?, ?, ?, 'queued', ?)")
  const addEntry = connection.prepare('insert into entry values (?, ?, ?, ?, ?, ?)')
  const addToQueue = connection.prepare('insert into queue values (?, ?)')

  const acceptAll = connection.transaction((jobs) => {
    let balance = balanceOf.get('account')
    for (const { id, at, body } of jobs) {
      if (balance < PRICE) throw new Error('the balance is too low')
      balance -= PRICE
      addMessage.run(id, 'account', body.channel, body.to, JSON.stringify(body.content), at)
      addEntry.run(`entry-${id}`, 'account', id, -PRICE, balance, at)
      addToQueue.run(id, at)
    }
    setBalance.run(balance, 'account')
  })

  let waiting = []
  let count = 0

  function commit() {
    const jobs = waiting
    waiting = []
    try {
      acceptAll.immediate(jobs)
      for (const job of jobs) job.resolve(job)
    } catch (error) {
      for (const { reject } of jobs) reject(error)
    }
  }

  return {
    /** Resolves after the commit. */
    accept(body) {
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) setImmediate(commit)
        const at = Date.now()
        const id = `${at.toString(16)}-${String(++count).padStart(12, '0')}`
        waiting.push({ id, at, body, resolve, reject })
      })
    },
  }
}
