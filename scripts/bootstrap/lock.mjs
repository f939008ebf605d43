import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, print } from './processes.mjs'

const POLL_MS = 200
const TOUCH_MS = 2_000
// A holder touches its lock every two seconds. This many looks at an untouched lock (20 s awake, so that a laptop's
// sleep does not count) mean that the holder is dead, even if another process has its id now.
const LOOKS_MAX = 100

/** Runs the work under the lock of the folder. Takes over the lock of a dead holder. */
export async function withLock(folder, work) {
  mkdirSync(folder, { recursive: true })
  const path = `${folder}/lock`
  await take(path)
  const release = () => rmSync(path, { force: true })
  process.once('exit', release)
  const touching = setInterval(() => touch(path), TOUCH_MS)
  try {
    return await work()
  } finally {
    clearInterval(touching)
    process.off('exit', release)
    release()
  }
}

async function take(path) {
  let seen = ''
  let looks = 0
  while (!create(path)) {
    const holder = look(path)
    if (holder === null) continue
    if (seen === '') print('another run is preparing this folder; waiting for it…')
    looks = holder.state === seen ? looks + 1 : 0
    seen = holder.state
    if (isGone(holder) || looks > LOOKS_MAX) removeUnlessTaken(path, holder.text)
    else await sleep(POLL_MS)
  }
}

function create(path) {
  try {
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname(), at: Date.now() }), {
      flag: 'wx',
    })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function touch(path) {
  // The whole folder may have been deleted, which is no reason to stop the work.
  if (existsSync(path)) utimesSync(path, new Date(), new Date())
}

function look(path) {
  try {
    const text = readFileSync(path, 'utf8')
    return { text, state: `${text} ${statSync(path).mtimeMs}` }
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}

/** Only a process of this machine can be known as dead. An incomplete file is being written. */
function isGone({ text }) {
  if (!text.endsWith('}')) return false
  const { pid, host } = JSON.parse(text)
  return host === hostname() && !isAlive(pid)
}

/** A rename lets only one of several processes remove a lock, and shows whether it was still the dead holder's. */
function removeUnlessTaken(path, text) {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (readFileSync(aside, 'utf8') === text) rmSync(aside)
  else renameSync(aside, path)
}
