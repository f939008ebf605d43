import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { LargeFile } from './large-file.ts'

const BYTES = randomBytes(1_000_001)
const BASE64 = BYTES.toString('base64')
const SHA256 = createHash('sha256').update(BYTES).digest('hex')

const read = async (text: string) => {
  const file = LargeFile.ofBase64(Buffer.from(text))
  return (await file.read()) ? file : null
}

function partsOf(file: LargeFile | null, length = 524_288): string {
  const count = Math.ceil(BASE64.length / length)
  return Array.from({ length: count }, (_, n) => file?.base64Part(n, length)).join('')
}

describe('LargeFile', () => {
  it('has the bytes of its base64, and gives the base64 back in parts', async () => {
    const file = await read(BASE64)
    expect(file).toMatchObject({ size_bytes: 1_000_001, sha256: SHA256 })
    expect(partsOf(file)).toBe(BASE64)
    expect(JSON.stringify(file)).toBe(`{"sha256":"${SHA256}","size_bytes":1000001}`)
  })

  it('is before it is read never larger than its bytes, whatever the padding and the escapes', () => {
    for (const size of [999_999, 1_000_000, 1_000_001]) {
      const base64 = BYTES.subarray(0, size).toString('base64')
      expect(LargeFile.ofBase64(Buffer.from(base64)).size_bytes).toBe(size)
      for (const written of ['\\/', '\\u002f']) {
        const escaped = Buffer.from(base64.replaceAll('/', written))
        expect(LargeFile.ofBase64(escaped).size_bytes).toBeLessThanOrEqual(size)
      }
    }
  })

  it('of bytes is the same file', async () => {
    const file = LargeFile.ofBytes(BYTES)
    expect(await file.read()).toBe(true)
    expect(file).toMatchObject({ size_bytes: 1_000_001, sha256: SHA256 })
    expect(partsOf(file)).toBe(BASE64)
  })

  it('reads the escapes with which PHP and .NET write base64, wherever a part ends', async () => {
    const php = BASE64.replaceAll('/', '\\/')
    const net = BASE64.replaceAll('+', '\\u002B').replaceAll('/', '\\u002f')
    for (const text of [php, net, `${'\\/'.repeat(600_000)}`]) {
      const plain = JSON.parse(`"${text}"`)
      const file = await read(text)
      expect(file?.size_bytes).toBe((plain.length / 4) * 3 - (plain.match(/=/g)?.length ?? 0))
      expect(file?.base64Part(0, plain.length)).toBe(plain)
    }
  })

  it.each([
    ['a wrong character', `${BASE64.slice(0, 600_001)}-${BASE64.slice(600_002)}`],
    ['a line break', `${BASE64.slice(0, 76)}\\r\\n${BASE64.slice(76)}`],
    ['padding inside', `${BASE64.slice(0, 524_286)}==${BASE64.slice(524_288)}`],
    ['no padding', BASE64.replace(/=+$/, '')],
    ['too much padding', `${BASE64}=`],
    ['letters of other scripts', `${BASE64.slice(4)}ЖЖ`],
    ['an escape that is none', `${BASE64.slice(4)}\\x41A`],
    ['escaped quotes', `${BASE64.slice(4)}\\"\\"AA`],
    ['nothing', ''],
  ])('refuses %s', async (_, text) => {
    expect(await read(text)).toBeNull()
  })

  it('takes white space and no padding if it is lenient', async () => {
    const text = BASE64.replace(/=+$/, '').replace(/.{76}/g, '$&\\r\\n')
    const file = LargeFile.ofBase64(Buffer.from(text)).lenient()
    expect(await file.read()).toBe(true)
    expect(file.sha256).toBe(SHA256)
  })
})
