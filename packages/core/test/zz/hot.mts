import pg from 'pg'
import { readFileSync } from 'node:fs'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { systemRuntime } from '../../src/runtime.ts'
import { units } from '../../src/contract/units.ts'
import { builders } from '../fixtures.ts'
import { decide } from '../../src/credits/decide.ts'
import { insertInto } from '../../src/storage/postgres/rows.ts'
import { tables } from '../../src/storage/tables.ts'
import { dialects } from '../../src/storage/dialect.ts'
const server = readFileSync('/tmp/pgwork/url','utf8')
const admin = new pg.Client({connectionString:server}); await admin.connect()
await admin.query('drop database if exists b2 with (force)'); await admin.query('create database b2')
const url = server.replace(/\/postgres$/,'/b2')
const runtime = systemRuntime(); const make = builders(runtime)
const storage = await openPostgres(url, runtime)
const ws = make.workspace()
await storage.write(async s => { await s.workspaces.insert(ws); await s.credits.open(ws.id, new Date()); await s.credits.post(ws.id, make.grant(units(900_000_000_000_000))) })
const MS = Number(process.argv[2] ?? 4000)
async function load(name: string, callers: number, one: () => Promise<unknown>) {
  let n = 0; const lat: number[] = []
  const t0 = performance.now(); const cpu0 = process.cpuUsage()
  await Promise.all(Array.from({length: callers}, async () => {
    while (performance.now() - t0 < MS) { const s = performance.now(); await one(); lat.push(performance.now()-s); n++ }
  }))
  const s = (performance.now()-t0)/1000; const cpu = process.cpuUsage(cpu0)
  lat.sort((a,b)=>a-b)
  console.log(name.padEnd(30), callers, 'callers', Math.round(n/s), '/s  p50', lat[lat.length>>1]!.toFixed(2), 'p99', lat[Math.floor(lat.length*.99)]!.toFixed(2), 'node cpu us/op', ((cpu.user+cpu.system)/n).toFixed(0))
  return n/s
}
const t = tables(dialects.postgres)
const inM = insertInto('m', t.messages), inQ = insertInto('q', t.message_queue), inE = insertInto('e', t.ledger_entries)
async function plain(pool: pg.Pool) {
  const request = make.send(ws.id); const c = await pool.connect()
  try {
    await c.query('begin')
    const { rows: [a] } = await c.query({ name:'l', text: 'select workspace_id, balance, held, credit_limit, seq, status from credit_accounts where workspace_id = $1 for update', values: [ws.id]})
    const acc = { ...a, balance: Number(a.balance), held: Number(a.held), credit_limit: Number(a.credit_limit), seq: Number(a.seq) }
    const d = decide(acc, request.debit!); if (!d.ok) throw new Error('no')
    const m = request.messages[0]!
    await c.query({ name:'u', text:'update credit_accounts set balance=$2, seq=$3 where workspace_id=$1', values:[ws.id, d.account.balance, d.account.seq]})
    await c.query({ name:'e', text: inE.text, values:[inE.toJson([d.entry])]})
    await c.query({ name:'m', text: inM.text, values:[inM.toJson([m])]})
    await c.query({ name:'q', text: inQ.text, values:[inQ.toJson([{message_id:m.id, workspace_id: ws.id, channel:'sms', task:'send', due_at: m.created_at, token:null, attempt:0, unknown_since:null}])]})
    await c.query('commit')
  } finally { c.release() }
}
for (let round = 0; round < 2; round++) {
  for (const callers of [16, 64, 256]) {
    const pool = new pg.Pool({ connectionString: url, max: Math.min(callers, 64) })
    await load('plain FOR UPDATE', callers, () => plain(pool))
    await pool.end()
    await load('coalesced', callers, async () => { const r = await storage.hot.accept([make.send(ws.id)]); if (r[0]!.outcome !== 'accepted') throw new Error(r[0]!.outcome) })
  }
}
await load('coalesced', 1, async () => storage.hot.accept([make.send(ws.id)]))
const pool = new pg.Pool({ connectionString: url, max: 1 })
await load('plain', 1, () => plain(pool)); await pool.end()
const check = new pg.Client({connectionString:url}); await check.connect()
console.log((await check.query('select (select count(*) from ledger_entries) e, (select seq from credit_accounts) seq, (select count(*) from messages) m')).rows[0])
await check.end(); await storage.close(); await admin.query('drop database b2 with (force)'); await admin.end()
