import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openEndpoint } from '../proof/stage/endpoint.ts'
import { onStage, openStage } from '../proof/stage/stage.ts'
import { markdownOf } from '../proof/stage/table.ts'
import { until } from '../proof/stage/until.ts'

const PROOF = fileURLToPath(new URL('../proof', import.meta.url))

describe('a stage', () => {
  it('runs its ends in reverse order before it removes its folder', async () => {
    const ended: string[] = []
    const folder = await onStage(async (stage) => {
      stage.atEnd(async () => ended.push(`first, ${existsSync(stage.folder)}`))
      stage.atEnd(() => ended.push('second'))
      return stage.folder
    })
    expect(ended).toEqual(['second', 'first, true'])
    expect(existsSync(folder)).toBe(false)
  })

  it('runs every end when the work and another end fail', async () => {
    const ended: string[] = []
    let folder = ''
    const work = onStage(async (stage) => {
      folder = stage.folder
      stage.atEnd(() => ended.push('first'))
      stage.atEnd(() => Promise.reject(new Error('an end')))
      throw new Error('the work')
    })
    await expect(work).rejects.toThrow('an end')
    expect(ended).toEqual(['first'])
    expect(existsSync(folder)).toBe(false)
  })

  it('closes once', async () => {
    const stage = openStage()
    let ends = 0
    stage.atEnd(() => {
      ends += 1
    })
    await stage.close()
    await stage.close()
    expect(ends).toBe(1)
  })
})

describe('until', () => {
  it('resolves with true as soon as the check is true', async () => {
    let checks = 0
    expect(await until(() => ++checks === 3, { every_ms: 1 })).toBe(true)
    expect(checks).toBe(3)
  })

  it('resolves with false when the check is false for too long', async () => {
    expect(await until(async () => false, { max_ms: 5, every_ms: 1 })).toBe(false)
  })
})

it('an endpoint answers with a status or with JSON', async () => {
  const { url, close } = await openEndpoint((path, _, body) =>
    path === '/status' ? 403 : { path, body },
  )
  try {
    expect((await fetch(`${url}/status`)).status).toBe(403)
    const answer = await fetch(`${url}/json`, { method: 'POST', body: 'text' })
    expect([answer.status, await answer.json()]).toEqual([200, { path: '/json', body: 'text' }])
  } finally {
    await close()
  }
})

it('a table has columns as wide as their widest cell', () => {
  const rows = [
    ['name', 'n'],
    ['a', '1,000'],
  ]
  expect(markdownOf(rows)).toEqual(['| name | n     |', '|------|-------|', '| a    | 1,000 |'])
  expect(markdownOf(rows, { areNumbers: true })).toEqual([
    '| name |     n |',
    '|------|------:|',
    '| a    | 1,000 |',
  ])
})

it('proofs start PostgreSQL in one place', () => {
  const files = readdirSync(PROOF, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|mjs)$/.test(path))
    .filter((path) => /postgres-(server|client)\.ts'/.test(readFileSync(join(PROOF, path), 'utf8')))
  expect(files.map((path) => path.replaceAll('\\', '/'))).toEqual(['stage/postgres.ts'])
})
