import pg from 'pg'

const { builtins } = pg.types

/** The parser for each type. The values get the types of the stores' rows. */
export const parsers: pg.CustomTypesConfig = {
  getTypeParser(type: number, format?: 'text' | 'binary') {
    if (format === 'binary') return pg.types.getTypeParser(type, format)
    if (type === builtins.INT8) return parseLong
    if (type === builtins.TIMESTAMPTZ) return parseTime
    return pg.types.getTypeParser(type, 'text')
  },
}

/**
 * A 64-bit number as a JavaScript number.
 * @throws RangeError when the result is not exact.
 */
function parseLong(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is past 2^53`)
  return value
}

/** Sessions have the time zone UTC and the ISO style: `2026-05-04 09:00:00.5+00`. */
function parseTime(text: string): Date {
  return new Date(text)
}
