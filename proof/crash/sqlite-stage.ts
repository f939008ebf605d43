import { join } from 'node:path'
import { openReadonly } from '../stage/database.ts'
import { damageIn } from './evidence.ts'
import { type Fault, HAND_OVER, live, type Play, type Stage } from './stage.ts'
import { openVictims, type VictimOptions } from './victim.ts'

/** The percentage of starts after a kill that are killed too. */
const KILLED_AT_START_PERCENT = 35

/** One service on a SQLite file. Its only fault is a kill. */
export async function openSqliteStage(options: VictimOptions): Promise<Stage> {
  const victims = openVictims(options)
  let victim = await victims.start()
  let lives = 0
  const file = join(options.folder, 'svc.db')
  const database = openReadonly(file)
  const query = async <Row>(sql: string) => database.prepare(sql).all() as Row[]

  /** One life under load, its kill, sometimes a second kill during the next start, and the next life. */
  async function causeFault(play: Play): Promise<Fault[]> {
    const { chance, traffic } = play
    traffic.aim([victim.url])
    await live(play)
    lives += 1
    // Every second life ends between a commit and its hand-over.
    const isAtHandOver = lives % 2 === 0 && (await victim.killAtCommit(HAND_OVER))
    const dead = victim.kill()
    traffic.aim([])
    await dead
    const kind = isAtHandOver ? 'between a commit and its hand-over' : 'under load'
    const killed = [{ kind: `a server was killed ${kind}`, slowest_ms: traffic.slowest_ms() }]
    if (chance.percent(KILLED_AT_START_PERCENT)) {
      await victims.startAndKill(chance.next() * victim.startup_ms * 1.2)
      killed.push({ kind: 'a server was killed while starting', slowest_ms: 0 })
    }
    victim = await victims.start()
    return killed
  }

  return {
    urls: () => [victim.url],
    inletOf: (url) => (url === victim.url ? victim.smtp_url : null),
    causeFault,
    query,
    database_url: () => `file:${file}`,
    damage: () => damageIn(query),
    outages: false,
    log: victims.log,
    async close() {
      database.close()
      await victim.kill()
    },
  }
}
