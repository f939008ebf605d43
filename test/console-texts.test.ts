import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { LANGUAGES, type Texts } from '../packages/server/console/shell/text.ts'

const SOURCES = new URL('../packages/server/console/', import.meta.url).pathname
const FINDINGS = new URL('../packages/core/src/overview/findings.ts', import.meta.url).pathname
/** Attributes and properties that people read. */
const READ = new Set([
  'label',
  'title',
  'text',
  'placeholder',
  'action',
  'alt',
  'aria-label',
  'hint',
])
const NOT_WORDS = new Set(['code', 'pre', 'svg', 'style'])

interface Found {
  /** Key to singular; an empty text for one without a plural. */
  keys: Map<string, string>
  /** Texts that no catalogue has. */
  bare: string[]
  /** The keys that name the facts of one list, or the columns of one table. */
  names: string[][]
}

/** The texts of the console, as its sources have them. */
function textsOf(): Found {
  const found: Found = { keys: new Map(), bare: [], names: [] }
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((one) => /\.tsx?$/.test(one) && !one.endsWith('.d.ts'))) {
    if (file === 'build.ts' || file.startsWith('languages')) continue
    const text = readFileSync(join(SOURCES, file), 'utf8')
    read(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), found)
  }
  readSaid(found.keys)
  return found
}

/** The sentences of the findings, which the console shows in its language. */
function readSaid(keys: Found['keys']): void {
  const text = readFileSync(FINDINGS, 'utf8')
  const file = ts.createSourceFile(FINDINGS, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText(file) === 'say') {
      const [sentence, , one] = node.arguments
      if (!sentence || !ts.isStringLiteralLike(sentence)) throw new Error(node.getText(file))
      keys.set(sentence.text, one && ts.isStringLiteralLike(one) ? one.text : '')
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
}

function read(file: ts.SourceFile, { keys, bare, names }: Found): void {
  const at = (node: ts.Node) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
    return `${file.fileName}:${line + 1}: ${node.getText(file).trim()}`
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const name = node.expression.getText(file)
      const [first, second, third] = node.arguments
      if ((name === 't' || name === 'rich') && first) {
        if (ts.isStringLiteralLike(first)) keys.set(first.text, '')
        else if (first.getText(file) !== "word.replaceAll('_', ' ')")
          bare.push(`${at(node)} needs a text`)
      }
      if (/\.replace(All)?$/.test(name) && second && ts.isStringLiteralLike(second)) {
        // A part of the pattern with its letters is no word.
        if (isWords(second.text.replaceAll(/\$\d\S*/g, ''))) bare.push(at(node))
      }
      if (name === 'plural' && second && third && ts.isStringLiteralLike(second)) {
        if (ts.isStringLiteralLike(third)) keys.set(third.text, second.text)
      }
      if (name === 'count' && second && ts.isStringLiteralLike(second)) {
        const other = third && ts.isStringLiteralLike(third) ? third.text : `${second.text}s`
        keys.set(`{n} ${other}`, `{n} ${second.text}`)
      }
    }
    // `wordOf` translates these words of the API.
    if (ts.isTypeAliasDeclaration(node) && node.name.text === 'Word') {
      const members = ts.isUnionTypeNode(node.type) ? node.type.types : []
      for (const one of members) {
        const word = ts.isLiteralTypeNode(one) && ts.isStringLiteral(one.literal) && one.literal
        if (word) keys.set(word.text.replaceAll('_', ' '), '')
      }
    }
    if (ts.isJsxOpeningLikeElement(node)) {
      const given = (name: string) =>
        node.attributes.properties
          .filter(ts.isJsxAttribute)
          .find((one) => one.name.getText(file) === name)?.initializer
      const noun = given('noun')
      const plural = given('plural')
      if (noun && ts.isStringLiteral(noun)) {
        const other = plural && ts.isStringLiteral(plural) ? plural.text : `${noun.text}s`
        keys.set(`{n} ${other}`, `{n} ${noun.text}`)
      }
    }
    const isName =
      (ts.isJsxAttribute(node) || ts.isPropertyAssignment(node)) &&
      READ.has(node.name.getText(file).replaceAll("'", ''))
    const value = isName && node.initializer
    if (value && ts.isStringLiteral(value) && isWords(value.text)) bare.push(at(node))
    if (ts.isStringLiteralLike(node) && isWords(node.text) && isShown(node)) bare.push(at(node))
    const named = namesIn(node, file)
    if (named.length > 1) names.push(named)
    if (ts.isJsxText(node) && isWords(node.text)) {
      const { parent } = node
      const tag = ts.isJsxElement(parent) ? parent.openingElement.tagName.getText(file) : ''
      if (!NOT_WORDS.has(tag)) bare.push(at(node))
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
}

/** Whether people read it as words: not only a host or an address of an example. */
const isWords = (text: string) => /\p{L}{2}/u.test(text.replaceAll(/\S+example\.\S+/g, ''))
/** Whether a text that stands beside others, as in `{at ?? 'never'}`, is the content of an element or of a cell. */
function isShown(text: ts.Node): boolean {
  let node = text.parent
  let child = text
  while (
    ts.isParenthesizedExpression(node) ||
    (ts.isConditionalExpression(node) && node.condition !== child) ||
    (ts.isBinaryExpression(node) && /^(\?\?|\|\||&&)$/.test(node.operatorToken.getText()))
  ) {
    child = node
    node = node.parent
  }
  if (ts.isJsxExpression(node)) return !ts.isJsxAttribute(node.parent)
  const isCell =
    ts.isArrowFunction(node) &&
    ts.isPropertyAssignment(node.parent) &&
    node.parent.name.getText() === 'value'
  return isCell || ts.isComputedPropertyName(node)
}

/** The keys of `{ [t('Status')]: … }`, or of `[{ name: t('Status') }, …]`. */
function namesIn(node: ts.Node, file: ts.SourceFile): string[] {
  const found: string[] = []
  const add = (one: ts.Node): void => {
    const [first] = ts.isCallExpression(one) ? one.arguments : []
    if (ts.isCallExpression(one) && one.expression.getText(file) === 't' && first) {
      if (ts.isStringLiteralLike(first)) found.push(first.text)
    } else ts.forEachChild(one, add)
  }
  if (ts.isObjectLiteralExpression(node)) {
    for (const { name } of node.properties) if (name && ts.isComputedPropertyName(name)) add(name)
  }
  if (ts.isArrayLiteralExpression(node)) {
    for (const each of node.elements.filter(ts.isObjectLiteralExpression)) {
      const name = each.properties.find((one) => one.name?.getText(file) === 'name')
      if (name && ts.isPropertyAssignment(name)) add(name.initializer)
    }
  }
  return found
}

const placeholders = (text: string) => [...text.matchAll(/\{+\w+/g)].map(String).sort()

describe('the texts of the console', () => {
  const { keys, bare, names } = textsOf()

  it('are all in the catalogue', () => {
    expect(keys.size).toBeGreaterThan(1000)
    expect(bare).toEqual([])
  })

  describe.each(Object.entries(LANGUAGES))('in %s', (tag, { load }) => {
    it('are complete, and no other text is there', async () => {
      const { default: texts } = await load()
      expect([...keys.keys()].filter((key) => !(key in texts))).toEqual([])
      expect(Object.keys(texts).filter((key) => !keys.has(key))).toEqual([])
    })

    it('have the values of the English text, and all forms of a plural', async () => {
      const { default: texts } = await load()
      const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.sort()
      const wrong = Object.entries(texts).filter(([key, text]) => !isRight(key, text, categories))
      expect(wrong).toEqual([])
    })
  })

  it('differ where they name the facts of one list, or the columns of one table', async () => {
    for (const { load } of Object.values(LANGUAGES)) {
      const texts: Texts = (await load()).default
      for (const keys of names) {
        const different = new Set(keys)
        expect(new Set([...different].map((key) => texts[key])).size, keys.join()).toBe(
          different.size,
        )
      }
    }
  })

  function isRight(key: string, text: Texts[string], categories: readonly string[]): boolean {
    if (typeof text === 'string') {
      return keys.get(key) === '' && text !== '' && isSame(placeholders(text), placeholders(key))
    }
    const has = Object.keys(text).sort()
    // A form for one, two or none may leave the number out.
    return keys.get(key) !== '' && isSame(has, categories) && `${text.other}`.includes('{n}')
  }

  const isSame = (a: readonly string[], b: readonly string[]) => a.join() === b.join()
})
