import fc from 'fast-check'

const SURROGATES = 0xd800
const SURROGATES_COUNT = 0x800

/**
 * Any character, as the unit of strings. The unit `binary` of fast-check is the same, but makes a table of all million
 * characters, which takes a second of CPU and 100 MB of each process.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES_COUNT }).map(
  (n) => String.fromCodePoint(n < SURROGATES ? n : n + SURROGATES_COUNT),
  (value) => {
    const code = typeof value === 'string' ? value.codePointAt(0) : undefined
    if (code === undefined || String.fromCodePoint(code) !== value) throw new Error('no character')
    return code < SURROGATES ? code : code - SURROGATES_COUNT
  },
)
