import type { connectTo } from '../stage/postgres.ts'
import { drain, type Scene, type Server, setScene } from './scenarios.ts'

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const TIME = /(?<=")\d{4}-\d\d-\d\dT[\d:.]+\+00:00(?=")/g

/**
 * Makes a scene once, and copies its rows with new ids and later times for each order, in one statement, which also deletes
 * the rows of the order before: a scene that is made by the operations of the service takes longer than the order.
 */
export async function sceneCopies(
  server: Server,
  database: Awaited<ReturnType<typeof connectTo>>,
): Promise<() => Promise<Scene>> {
  const scene = await setScene(server)
  const made_ms = server.clock.now().getTime()
  const queued_ms = Date.now()
  const { rows: tables } = await database.query(
    `select c.table_name as name, case c.table_name when 'workspaces' then 'id' else 'workspace_id' end as key
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where table_schema = current_schema() and table_type = 'BASE TABLE'
     and (column_name = 'workspace_id' or (table_name = 'workspaces' and column_name = 'id'))`,
  )
  const names: string[] = []
  const texts: string[] = []
  for (const { name, key } of tables) {
    const { rows } = await database.query({
      text: `select jsonb_agg(r)::text as copy from ${name} r where ${key} = $1`,
      values: [scene.workspace_id],
    })
    if (rows[0]?.copy == null) continue
    names.push(name)
    texts.push(rows[0].copy)
  }
  const own = JSON.stringify({ ...scene, answeredByKey: undefined })
  const ids = [...new Set([...texts, own].join().match(ID))].sort()
  await drain(server, scene, { servers: [server], isRepeated: false, database })
  // The ledger's triggers refuse to delete entries.
  await database.query('set session_replication_role = replica')
  const deleted = [...tables.map(({ name }) => name), 'dispatch_pauses']
  await database.query(`create function reset_scene(copies jsonb[]) returns void language plpgsql as $$ begin
    ${deleted.map((name) => `delete from ${name};`).join(' ')}
    ${names.map((name, i) => `insert into ${name} select * from jsonb_populate_recordset(null::${name}, copies[${i + 1}]);`).join(' ')}
    end $$`)
  return async () => {
    const fresh = new Map(ids.map((id) => [id, server.clock.id()]))
    const later_ms = server.clock.now().getTime() - made_ms
    const renewed = (text: string, by_ms = later_ms) =>
      text
        .replace(ID, (id) => fresh.get(id) ?? id)
        .replace(TIME, (time) => new Date(Date.parse(time) + by_ms).toISOString())
    // Due times and leases follow the clock of the database, which is slower than the clock of the servers.
    const shiftOf = (name: string | undefined) =>
      name?.endsWith('_queue') ? Date.now() - queued_ms : later_ms
    await database.query({
      name: 'reset_scene',
      text: 'select reset_scene($1::jsonb[])',
      values: [texts.map((text, i) => renewed(text, shiftOf(names[i])))],
    })
    return { ...(JSON.parse(renewed(own)) as Scene), answeredByKey: new Set() }
  }
}
