import pg from 'pg'
import { readFileSync } from 'node:fs'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { systemRuntime } from '../../src/runtime.ts'
const server = readFileSync('/tmp/pgwork/url','utf8')
const admin = new pg.Client({connectionString:server}); await admin.connect()
const runtime = systemRuntime()
const med = (a:number[]) => a.slice().sort((x,y)=>x-y)[a.length>>1]!
async function at(count: number, analyze: boolean) {
  await admin.query('drop database if exists b3 with (force)'); await admin.query('create database b3')
  const url = server.replace(/\/postgres$/,'/b3')
  let storage = await openPostgres(url, runtime)
  const c = new pg.Client({connectionString:url}); await c.connect()
  // prepared while empty: plans cached on an empty table
  for (let i=0;i<3;i++) await storage.hot.claimMessages({ now: new Date(), limit: 100, lease_ms: 600000, token: 'x', providerOf: () => 'p' })
  await c.query(`insert into messages (id, workspace_id, channel, recipient, content, metadata, livemode, status, accepted, credits_used, credits_refunded, sequence, created_at, updated_at)
    select lpad(to_hex(i),32,'0'), 'w'||(i%50), 'sms', '+1', '{"text":"hello there"}', '{}', true, 'queued', false, 1000000, 0, 0, now(), now() from generate_series(1,$1::int) i`, [count])
  await c.query(`insert into message_queue (message_id, workspace_id, channel, task, due_at, attempt) select id, workspace_id, channel, 'send', now() - random() * interval '1 hour', 0 from messages`)
  if (analyze) await c.query('analyze')
  await c.query('checkpoint')
  const times: number[] = []
  for (let i=0;i<10;i++) { const s=performance.now(); const r = await storage.hot.claimMessages({ now: new Date(), limit: 100, lease_ms: 600000, token: runtime.id(), providerOf: () => 'p' }); times.push(performance.now()-s); if (r.length!==100) throw new Error('short '+r.length) }
  console.log(count, analyze ? 'analyzed':'not analyzed', 'claim of 100: median', med(times).toFixed(2), 'ms; all', times.map(t=>t.toFixed(1)).join(' '))
  if (count > 10000 && process.argv[2]) {
    for (let k=0;k<6;k++) { const ts:number[]=[]; const ss:number[]=[]
      for (let i=0;i<40;i++) { let s=performance.now(); const r = await storage.hot.claimMessages({ now: new Date(), limit: 256, lease_ms: 600000, token: runtime.id(), providerOf: () => 'p' }); ts.push(performance.now()-s)
        s=performance.now(); await storage.hot.settle(r.map(m => ({ workspace_id: m.workspace_id, message_id: m.message_id, token: m.token, provider:'p', abilities:{idempotent:false,lookup:false}, result:{task:'send', attempt:m.attempt, outcome:{type:'accepted', provider_message_id:'P', lookup_after_ms:null}}, at:new Date()}))); ss.push(performance.now()-s) }
      console.log('  after', (k+1)*40*256, 'claim of 256: median', med(ts).toFixed(2), 'max', Math.max(...ts).toFixed(1), 'settle median', med(ss).toFixed(2)) }
  }
  await c.end(); await storage.close()
}
await at(1000, false); await at(1000000, false); await at(1000, true); await at(1000000, true)
await admin.query('drop database b3 with (force)'); await admin.end()
