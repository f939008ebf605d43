import { expect, test } from 'vitest'
import { jsonFault } from './config-file.ts'

const GOOD = [
  '{}',
  ' [] ',
  'null',
  '-1.5e+3',
  '"\\u00e9\\n"',
  '{"a":[1,{"b":"c"},true,false,null],"d":{}}',
  '{\n  "port": 3000\n}\n',
]

const BAD: [text: string, line: number, column: number][] = [
  ['', 1, 1],
  ['{"a":1,}', 1, 8],
  ['{"a":1', 1, 7],
  ['{\n  "port": 3000\n  "host": "x"\n}', 3, 3],
  ['{\n  "port": 03\n}', 2, 12],
  ["{'a':1}", 1, 2],
  ['{"a": "x\ny"}', 1, 7],
  ['{"a": "x\u0001y"}', 1, 7],
  ['{"a" 1}', 1, 6],
  ['{} {}', 1, 4],
  ['{"a":tru}', 1, 6],
  ['["\\x"]', 1, 2],
]

test.each(GOOD)('accepts %j', (text) => {
  expect(jsonFault(text)).toBeNull()
  expect(() => JSON.parse(text)).not.toThrow()
})

test.each(BAD)('finds the error in %j', (text, line, column) => {
  expect(jsonFault(text)).toEqual({ line, column })
  expect(() => JSON.parse(text)).toThrow()
})

test('refuses deep nesting', () => {
  expect(jsonFault('['.repeat(1_000_000))).toMatchObject({ line: 1 })
})
