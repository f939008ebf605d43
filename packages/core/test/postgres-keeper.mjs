/**
 * Runs a PostgreSQL server until its standard input is closed, which the system does when the parent process ends or is
 * killed; then stops the server and removes its folder. Until then it performs the tasks that the parent sends, and answers
 * after each.
 */
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const FAST_MS = 5_000

const { program, arguments: args, folder, uid, gid } = JSON.parse(process.argv[2] ?? '')
const logFile = join(folder, 'server.log')

/** Whether the end of the server was requested: permanently, or until the task `start`. */
let ending = false
let resting = false
let server = run()

process.stdin.resume()
process.stdin.on('close', () => {
  ending = true
  if (hasEnded()) return finish(null)
  // A paused server does not handle signals.
  signal('SIGCONT')
  // A fast shutdown first; SIGKILL if that hangs.
  server.kill('SIGINT')
  setTimeout(() => signal('SIGKILL'), FAST_MS).unref()
})

/** @type {Record<string, () => void | Promise<void>>} */
const tasks = {
  pause: () => signal('SIGSTOP'),
  resume: () => signal('SIGCONT'),
  kill: async () => {
    /** @type {number[]} */
    let killed = []
    await endBy(() => {
      killed = signal('SIGKILL')
    })
    // A process that still ends holds the shared memory, and the server refuses to start again meanwhile.
    while (killed.some(isRunning)) await pause(10)
  },
  shutDown: () => endBy(() => void server.kill('SIGINT')),
  start() {
    resting = false
    server = run()
  },
}
process.on('message', async (task) => {
  await tasks[String(task)]?.()
  process.send?.(task)
})

function run() {
  const log = openSync(logFile, 'a', 0o600)
  const server = spawn(program, args, { uid, gid, cwd: folder, stdio: ['ignore', log, log] })
  closeSync(log)
  server.on('error', (error) => finish(String(error)))
  server.on('exit', (code) => {
    if (ending) finish(null)
    else if (!resting) finish(`the server ended with ${code}`)
  })
  return server
}

function hasEnded() {
  return server.exitCode !== null || server.signalCode !== null
}

/** @param {() => void} end */
async function endBy(end) {
  resting = true
  if (hasEnded()) return
  const ended = new Promise((resolve) => server.once('exit', resolve))
  end()
  await ended
}

/**
 * Sends a signal to the server and all its processes. It is paused meanwhile, so that it starts no process.
 * @param {NodeJS.Signals} name
 * @returns {number[]} the processes of the server without the first one
 */
function signal(name) {
  server.kill('SIGSTOP')
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const pids = stdout
    .split('\n')
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([pid, parent]) => (pid && parent === server.pid ? [pid] : []))
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // The process has just ended.
    }
  }
  server.kill(name)
  return pids
}

/**
 * Whether a process has not ended. One that ended keeps its id until its parent notices, which nothing does in some containers.
 * @param {number} pid
 */
function isRunning(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.startsWith('Z')
}

/** @param {string | null} fault null if the end was requested */
function finish(fault) {
  if (fault) process.stderr.write(`${fault}\n${readFileSync(logFile, 'utf8')}`)
  rmSync(folder, { recursive: true, force: true })
  process.exitCode = fault ? 1 : 0
  process.stdin.destroy()
  if (process.connected) process.disconnect()
}
