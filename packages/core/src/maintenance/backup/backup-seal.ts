import { createHash, randomBytes } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { type Connection, Sqlite } from '../../storage/sqlite/engine/connection.ts'

import { refusal } from '../refusal.ts'

/** The description of a backup, in a separate table. */
export interface Mark {
  as_of: Date
  made_by: string
}

/**
 * `<random>:<sha256>`: the random text locates the checksum in the file; the hash has zeros in the checksum's place.
 */
interface Sealed extends Mark {
  seal: string
}

const HEX = 64
const NO_HASH = '0'.repeat(HEX)
const BLOCK = 1024 * 1024

/**
 * Marks a copy as a backup of `as_of`, so that a server that starts on it does not send, even if the copy was put in
 * place by hand. Seals the copy, so that any later change of a byte is detected.
 */
export async function sealBackup(file: string, { as_of, made_by }: Mark): Promise<void> {
  const nonce = randomBytes(16).toString('hex')
  const copy = new Sqlite(file)
  try {
    // A server writes its log into a second file, but a backup must be one file.
    copy.pragma('journal_mode = DELETE')
    copy.transaction(() => {
      copy.exec('drop table if exists svc_backup')
      copy.exec(
        'create table svc_backup (as_of integer not null, made_by text not null, seal text not null) strict',
      )
      copy
        .prepare('insert into svc_backup values (?, ?, ?)')
        .run(as_of.getTime(), made_by, `${nonce}:${NO_HASH}`)
      pauseIn(copy, { as_of, at: as_of })
    })()
  } finally {
    copy.close()
  }
  const { at, sealed } = await hashesOf(file, nonce)
  if (at === null) throw new Error('the mark of the backup is not in it')
  const target = openSync(file, 'r+')
  try {
    writeSync(target, sealed, at)
    fsyncSync(target)
  } finally {
    closeSync(target)
  }
}

/** Stores a pause in the copy, which lasts until an operator ends it. Older schemas have no table for the pause. */
export function pauseIn(copy: Connection, { as_of, at }: { as_of: Date; at: Date }): void {
  if (!hasTable(copy, 'dispatch_pauses')) return
  const reason = `Restored from a backup of ${as_of.toISOString()}`
  copy
    .prepare(
      `insert or replace into dispatch_pauses (scope, cause, reason, backup_at, created_at)
       values ('all', 'restore', ?, ?, ?)`,
    )
    .run(reason, as_of.getTime(), at.getTime())
}

/** The mark of a copy; null without a mark. */
export function markOf(copy: Connection): Mark | null {
  const sealed = sealedOf(copy)
  return sealed && { as_of: sealed.as_of, made_by: sealed.made_by }
}

/**
 * Verifies the seal of a file, if it has one, and returns the SHA-256 of the file.
 * @throws Error `damaged`.
 */
export async function verifySeal(
  file: string,
  copy: Connection,
  signal?: AbortSignal | undefined,
): Promise<string> {
  const [nonce = '', hash] = sealedOf(copy)?.seal.split(':') ?? []
  const { whole, sealed } = await hashesOf(file, nonce, signal)
  if (hash !== undefined && hash !== sealed) {
    throw refusal('damaged', `${file} is damaged: it is not as it was when it was made`)
  }
  return whole
}

function sealedOf(copy: Connection): Sealed | null {
  if (!hasTable(copy, 'svc_backup')) return null
  const row = copy.prepare('select as_of, made_by, seal from svc_backup').get()
  if (!row) return null
  const { as_of, made_by, seal } = row as { as_of: number; made_by: string; seal: string }
  const at = new Date(as_of)
  const isMeant = typeof made_by === 'string' && typeof seal === 'string'
  if (!isMeant || Number.isNaN(at.getTime())) {
    throw refusal('damaged', `${copy.name} is damaged: its mark makes no sense`)
  }
  return { as_of: at, made_by, seal }
}

function hasTable(copy: Connection, name: string): boolean {
  const known = copy.prepare("select 1 from sqlite_schema where type = 'table' and name = ?")
  return known.get(name) !== undefined
}

/** The hash of the whole file, and the hash with zeros in place of the seal, which begins at `at`. */
async function hashesOf(file: string, nonce: string, signal?: AbortSignal | undefined) {
  const at = nonce === '' ? null : await placeOf(file, `${nonce}:`, signal)
  const whole = createHash('sha256')
  const sealed = createHash('sha256')
  let position = 0
  for await (const chunk of blocksOf(file, signal)) {
    const block = chunk as Buffer
    whole.update(block)
    if (at !== null) sealed.update(zeroed(block, at - position))
    position += block.length
  }
  return { at, whole: whole.digest('hex'), sealed: sealed.digest('hex') }
}

function blocksOf(file: string, signal: AbortSignal | undefined) {
  return createReadStream(file, { highWaterMark: BLOCK, ...(signal && { signal }) })
}

/** The block with zeros in place of those digits of the seal that are in the block; the digits begin at `from`. */
function zeroed(block: Buffer, from: number): Buffer {
  const [start, end] = [Math.max(from, 0), Math.min(from + HEX, block.length)]
  if (start >= end) return block
  return Buffer.from(block).fill('0', start, end)
}

/** The position after `text` in a file; null unless the text occurs exactly once. */
async function placeOf(
  file: string,
  text: string,
  signal: AbortSignal | undefined,
): Promise<number | null> {
  const found: number[] = []
  let before = Buffer.alloc(0)
  let position = 0
  for await (const chunk of blocksOf(file, signal)) {
    const block = Buffer.concat([before, chunk as Buffer])
    for (let i = block.indexOf(text); i >= 0; i = block.indexOf(text, i + 1)) {
      found.push(position + i + text.length)
    }
    before = block.subarray(Math.max(0, block.length - text.length + 1))
    position += block.length - before.length
  }
  return found.length === 1 ? (found[0] as number) : null
}

const MAGIC = 'SQLite format 3\0'

/** @throws Error `foreign` unless the file is a SQLite database. */
export function assertSqlite(file: string): void {
  const head = Buffer.alloc(MAGIC.length)
  const source = openSync(file, 'r')
  try {
    readSync(source, head, 0, head.length, 0)
  } finally {
    closeSync(source)
  }
  if (head.toString('latin1') !== MAGIC)
    throw refusal('foreign', `${file} is not a SQLite database`)
}
