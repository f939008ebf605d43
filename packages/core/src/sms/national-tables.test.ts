import { describe, expect, test } from 'vitest'
import { NATIONAL_TABLES, type NationalTables } from './national-tables.ts'

function textOf(kind: keyof NationalTables, language: number, hex: string): string {
  const table = NATIONAL_TABLES.get(language)?.[kind]
  return Array.from(Buffer.from(hex, 'hex'), (code) => table?.get(code) ?? '\ufffd').join('')
}

/** The characters of a table in the order of their codes. */
function allOf(kind: keyof NationalTables, language: number): string {
  const table = [...(NATIONAL_TABLES.get(language)?.[kind] ?? [])]
  return table
    .sort(([a], [b]) => a - b)
    .map(([, character]) => character)
    .join('')
}

describe('the tables of 3GPP TS 23.038 annex A', () => {
  test('are those of 13 languages', () => {
    expect([...NATIONAL_TABLES.keys()]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  test('have the whole Turkish alphabet: A.3.1 and A.2.1', () => {
    expect(allOf('locking', 1)).toBe(
      '@£$¥€éùıòÇ\nĞğ\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bŞşßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
        'İABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§çabcdefghijklmnopqrstuvwxyzäöñüà',
    )
    expect(allOf('single', 1)).toBe('\f^{}\\[~]|ĞİŞç€ğış')
  })

  test('have the Spanish letters, and no locking table: A.2.2', () => {
    expect(allOf('single', 2)).toBe('ç\f^{}\\[~]|ÁÍÓÚá€íóú')
    expect(NATIONAL_TABLES.get(2)?.locking).toBe(NATIONAL_TABLES.get(0)?.locking)
  })

  test('have the whole Portuguese alphabet: A.3.3 and A.2.3', () => {
    expect(allOf('locking', 3)).toBe(
      '@£$¥êéúíóç\nÔô\rÁáΔ_ªÇÀ∞^\\€Ó|\x1bÂâÊÉ !"#º%&\'()*+,-./0123456789:;<=>?' +
        'ÍABCDEFGHIJKLMNOPQRSTUVWXYZÃÕÚÜ§~abcdefghijklmnopqrstuvwxyzãõ`üà',
    )
    expect(allOf('single', 3)).toBe('êç\fÔôÁáΦΓ^ΩΠΨΣΘÊ{}\\[~]|ÀÍÓÚÃÕÂ€íóúãõâ')
  })

  test.each([
    ['Bengali', 4, '4050014650', 'বাংলা', '191a1c1d1e1f20212223', '০১২৩৪৫৬৭৮৯', 114, 82],
    ['Gujarati', 5, '17531d44502752', 'ગુજરાતી', '1c1d1e1f202122232425', '૦૧૨૩૪૫૬૭૮૯', 120, 70],
    ['Hindi', 6, '2f424c5f2759', 'नमस्ते', '1c1d1e1f202122232425', '०१२३४५६७८९', 127, 88],
    ['Kannada', 7, '152f5f2f24', 'ಕನ್ನಡ', '1c1d1e1f202122232425', '೦೧೨೩೪೫೬೭೮೯', 120, 73],
    ['Malayalam', 8, '424643504701', 'മലയാളം', '1c1d1e1f202122232425', '൦൧൨൩൪൫൬൭൮൯', 120, 82],
    ['Oriya', 9, '13245104', 'ଓଡିଆ', '1c1d1e1f202122232425', '୦୧୨୩୪୫୬୭୮୯', 116, 75],
    ['Punjabi', 10, '3d7b1d504052', 'ਪੰਜਾਬੀ', '1c1d1e1f202122232425', '੦੧੨੩੪੫੬੭੮੯', 110, 76],
    ['Tamil', 11, '274251485f', 'தமிழ்', '1c1d1e1f202122232425', '௦௧௨௩௪௫௬௭௮௯', 102, 77],
    ['Telugu', 12, '275846531753', 'తెలుగు', '1c1d1e1f202122232425', '౦౧౨౩౪౫౬౭౮౯', 120, 78],
    ['Urdu', 13, '0500473d07004f', 'پاکستان', '1c1d1e1f202122232425', '۰۱۲۳۴۵۶۷۸۹', 127, 90],
  ])(
    'have the letters and digits of %s',
    (_name, language, word, letters, ten, digits, locking, single) => {
      expect(textOf('locking', language, word)).toBe(letters)
      expect(textOf('single', language, ten)).toBe(digits)
      // The number of characters that annex A prints in each table.
      expect(NATIONAL_TABLES.get(language)?.locking.size).toBe(locking)
      expect(NATIONAL_TABLES.get(language)?.single.size).toBe(single)
    },
  )

  test('have each character of a locking table once', () => {
    for (const language of NATIONAL_TABLES.keys()) {
      const all = allOf('locking', language)
      expect(new Set(all).size).toBe(all.length)
    }
  })

  test('leave line ends, the space, digits and small letters where they are', () => {
    const codes = Buffer.from('\n\r 0123456789abcdefghijklmnopqrstuvwxyz').toString('hex')
    for (const language of NATIONAL_TABLES.keys()) {
      expect(textOf('locking', language, codes)).toBe('\n\r 0123456789abcdefghijklmnopqrstuvwxyz')
    }
  })

  test('keep the signs of the default extension table', () => {
    for (const language of NATIONAL_TABLES.keys()) {
      expect(textOf('single', language, '0a14282f3c3d3e4065')).toBe('\f^{\\[~]|€')
    }
  })
})
