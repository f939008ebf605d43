import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { DRIVER, driverFor, loadDriver } from './connection.ts'

const require = createRequire(import.meta.url)

/** Runs a CommonJS program in its own process, because a failure of native code ends the process. */
function run(program: string): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=commonjs', '-e', program],
    { encoding: 'utf8', env: { ...process.env, DRIVER: require.resolve(DRIVER) } },
  )
  return { status, stdout, stderr }
}

describe('the SQLite driver', () => {
  it('is better-sqlite3 13 where Node-API 10 is there, and 12 on Node 20', () => {
    expect(driverFor('10')).toBe('better-sqlite3')
    expect(driverFor('9')).toBe('better-sqlite3-12')
    const { version } = require(`${DRIVER}/package.json`) as { version: string }
    expect(version).toMatch(process.version.startsWith('v20.') ? /^12\./ : /^13\./)
  })

  it('lets statements be collected when an allocation of JavaScript code starts the collection', () => {
    const ended = run(`
      const Database = require(process.env.DRIVER)
      const connection = new Database(':memory:')
      function useStatements() {
        for (let i = 0; i < 2_000; i++) connection.prepare('select 1').get()
      }
      function allocate() {
        const held = []
        for (let i = 0; i < 2_000_000; i++) held.push({ i })
        return held.length
      }
      useStatements()
      allocate()
      connection.close()
      console.log('collected')`)
    expect(ended).toEqual({ status: 0, stdout: 'collected\n', stderr: '' })
  })

  it('lets threads end while their statements are open, by themselves and terminated', () => {
    const ended = run(`
      const { Worker } = require('node:worker_threads')
      const { once } = require('node:events')
      const thread = \`
        const { parentPort } = require('node:worker_threads')
        const Database = require(process.env.DRIVER)
        const connection = new Database(':memory:')
        globalThis.held = [connection, ...Array.from({ length: 500 }, () => connection.prepare('select 1'))]
        const rows = connection.prepare('select 1 union all select 2').iterate()
        rows.next()
        held.push(rows)
        parentPort.once('message', () => process.exit(0))
        parentPort.postMessage('open')\`
      async function main() {
        for (const ends of ['message', 'terminate', 'message', 'terminate']) {
          const worker = new Worker(thread, { eval: true })
          await once(worker, 'message')
          const ended = once(worker, 'exit')
          if (ends === 'message') worker.postMessage('end')
          else worker.terminate()
          await ended
        }
        console.log('ended')
      }
      main()`)
    expect(ended).toEqual({ status: 0, stdout: 'ended\n', stderr: '' })
  })

  it('says what to install where version 12 is missing, and passes on any other failure', () => {
    const missing = Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' })
    const fails = (error: Error) => () => {
      throw error
    }
    expect(() => loadDriver('better-sqlite3-12', fails(missing))).toThrow(
      'npm install better-sqlite3-12@npm:better-sqlite3@12',
    )
    expect(() => loadDriver('better-sqlite3', fails(missing))).toThrow(missing)
    const broken = new Error('libstdc++.so.6 is missing')
    expect(() => loadDriver('better-sqlite3-12', fails(broken))).toThrow(broken)
  })
})
