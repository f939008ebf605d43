/**
 * Runs a PostgreSQL server for as long as somebody holds this process's standard input open; then ends it and removes
 * its folder. Whoever started it may be killed at any moment: the system closes the pipe for it.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const FAST_MS = 5_000

const { program, arguments: args, folder, uid, gid } = JSON.parse(process.argv[2] ?? '')
const logFile = join(folder, 'server.log')
const log = openSync(logFile, 'a', 0o600)
const server = spawn(program, args, { uid, gid, cwd: folder, stdio: ['ignore', log, log] })
closeSync(log)

let ending = false
/** @type {NodeJS.Timeout | undefined} */
let force
server.on('error', (error) => finish(String(error)))
server.on('exit', (code) => finish(ending ? null : `the server ended with ${code}`))

process.stdin.resume()
process.stdin.on('close', () => {
  if (server.exitCode !== null || server.signalCode !== null) return
  ending = true
  // Fast first; if that hangs, at once.
  server.kill('SIGINT')
  force = setTimeout(() => server.kill('SIGQUIT'), FAST_MS)
})

/** @param {string | null} fault why, unless it was asked to */
function finish(fault) {
  if (fault) process.stderr.write(`${fault}\n${readFileSync(logFile, 'utf8')}`)
  rmSync(folder, { recursive: true, force: true })
  process.exitCode = fault ? 1 : 0
  process.stdin.destroy()
  clearTimeout(force)
}
