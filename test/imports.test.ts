import { describe, expect, it } from 'vitest'
import { importsOf } from './imports.ts'

function lasting(source: string): string[] {
  return importsOf(source).flatMap((one) => (one.is_type_only ? [] : [one.specifier]))
}

function typesOnly(source: string): string[] {
  return importsOf(source).flatMap((one) => (one.is_type_only ? [one.specifier] : []))
}

describe('importsOf', () => {
  it.each([
    ["import 'a'", ['a']],
    ["import a from 'a'", ['a']],
    ["import * as a from 'a'", ['a']],
    ["import a, { b } from 'a'", ['a']],
    ["import {\n  b,\n  type C,\n} from 'a'", ['a']],
    ["export * from 'a'", ['a']],
    ["export * as a from 'a'", ['a']],
    ["export { b } from 'a'", ['a']],
    ["const a = await import('a')", ['a']],
    ["const make = () => import('a')", ['a']],
    ["const { b } = (await import('a')).C", ['a']],
    ["const a = require('a')", ['a']],
    ["const { PORT } = process.env\nimport 'a'", ['a', 'process.env']],
    ["export { b }\nimport 'a'\nexport type { C }\nimport { d } from 'b'", ['a', 'b']],
    ["const view = <Box><Text>a</Text>{await import('a')}</Box>\nimport 'b'", ['b', 'a']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text under test is itself a template.
    ["const a = `one ${process.env.B} two ${await import('c')}`", ['c', 'process.env']],
  ])('%s lasts', (source, specifiers) => {
    expect(lasting(source)).toEqual(specifiers)
    expect(typesOnly(source)).toEqual([])
  })

  it.each([
    "import type A from 'a'",
    "import type { A } from 'a'",
    "import type * as A from 'a'",
    "export type { A } from 'a'",
    "export type * from 'a'",
    "let a: import('a').A",
    "let a: typeof import('a')",
  ])('%s is a type', (source) => {
    expect(typesOnly(source)).toEqual(['a'])
    expect(lasting(source)).toEqual([])
  })

  it.each([
    "// import 'a'",
    "/**\n * import { b } from 'a'\n */",
    'const text = "import \'a\'"',
    "const text = `import 'a' \\` import 'a' process.env`",
    "const quote = /['\"`]/ // import 'a'",
    "const glob = '**/*.ts'; const url = 'https://a' // process.env",
    "type A = 'a'\nexport type B = 'from'",
    "const half = a / 2 // import('a') / process.env",
  ])('%s imports nothing', (source) => {
    expect(importsOf(source)).toEqual([])
  })
})
