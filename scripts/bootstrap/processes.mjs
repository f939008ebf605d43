import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { isatty } from 'node:tty'

const WATCH_MS = 250
// The service itself takes up to 25 s to finish its work in flight.
const GRACE_MS = 30_000
const STILL_MS = 10_000
const OUTPUT_MAX = 20_000
const TAIL_LINES = 40

const isWindows = process.platform === 'win32'
const parent = process.ppid
const children = new Set()
let exitCode = null

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => pass(signal))
process.on('exit', () => {
  for (const child of children) end(child, child.isGroup ? 'SIGKILL' : 'SIGTERM')
})
// The reader of the output may be gone; the command must still end cleanly.
process.stderr.on('error', () => {})
const watch = setInterval(() => isParentGone() && leave(), WATCH_MS).unref()

/** Prints one line of the bootstrap to stderr: stdout belongs to the command. */
export function print(text) {
  process.stderr.write(`svc: ${text}\n`)
}

/** Ends the bootstrap with a message, below the end of the failed program's output. */
export function fail(text, output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !/^ +at /.test(line))
  process.stderr.write(`${lines.slice(-TAIL_LINES).join('\n')}\n`)
  print(text)
  process.exit(1)
}

/** Whether a process with this id runs, under any user. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/**
 * Runs the command in place of the bootstrap: same terminal, same signals, and it ends with our parent. Returns the
 * exit code; 128 + n for a death by signal n.
 */
export function runCommand([command, ...args]) {
  return new Promise((resolve) => {
    const child = start(command, args, { stdio: 'inherit' })
    child.once('error', (error) => {
      print(`cannot run ${command}: ${error.message}`)
      resolve(127)
    })
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

/**
 * Runs a program and keeps its output: `{ code, output, isOverLimit }`. Prints a line if it takes long. Exits
 * silently when the bootstrap gets a signal.
 */
export function runStep(command, args, { cwd, env, limit_ms, doing }) {
  return new Promise((resolve) => {
    // A process group of its own, so that ending an install also ends its compiler.
    const child = start(command, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: !isWindows,
    })
    const began = Date.now()
    let output = ''
    let isOverLimit = false
    const keep = (chunk) => {
      output = (output + chunk).slice(-OUTPUT_MAX)
    }
    child.stdout?.setEncoding('utf8').on('data', keep)
    child.stderr?.setEncoding('utf8').on('data', keep)
    const still = setInterval(
      () => print(`still ${doing}, ${Math.round((Date.now() - began) / 1000)} s…`),
      STILL_MS,
    )
    const limit = setTimeout(() => {
      isOverLimit = true
      end(child, 'SIGKILL')
    }, limit_ms)
    const finish = (code) => {
      clearInterval(still)
      clearTimeout(limit)
      if (exitCode !== null) process.exit(exitCode)
      resolve({ code, output, isOverLimit })
    }
    child.once('error', (error) => {
      keep(`${command}: ${error.message}`)
      finish(127)
    })
    child.once('close', (code) => finish(code ?? 1))
  })
}

function start(command, args, options) {
  const child =
    isWindows && command === 'npx'
      ? spawn(['npx.cmd', ...args].join(' '), { ...options, shell: true })
      : spawn(command === 'node' ? process.execPath : command, args, options)
  child.isGroup = options.detached === true
  children.add(child)
  child.once('exit', () => children.delete(child))
  child.once('error', () => children.delete(child))
  return child
}

function pass(signal) {
  exitCode = 128 + constants.signals[signal]
  // Ctrl-C in a terminal reaches every process of the foreground group; a second signal would mean "end immediately".
  const isFromTerminal = signal === 'SIGINT' && [0, 1, 2].some((fd) => isatty(fd))
  for (const child of children) if (child.isGroup || !isFromTerminal) end(child, signal)
  if (children.size === 0) process.exit(exitCode)
}

/** npm sends a signal only to its shell, which dies without forwarding it: the end of our parent is the signal. */
function leave() {
  clearInterval(watch)
  if (exitCode === null) pass('SIGTERM')
  setTimeout(() => {
    for (const child of children) end(child, 'SIGKILL')
  }, GRACE_MS).unref()
}

function isParentGone() {
  return isWindows ? !isAlive(parent) : process.ppid !== parent
}

function end(child, signal) {
  try {
    if (child.isGroup) process.kill(-child.pid, signal)
    else child.kill(signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
