/** One import in a source text, static or dynamic, or a re-export. */
export interface Import {
  /** The text between the quotes; `process.env` for a use of the environment, which has the effect of an import. */
  readonly specifier: string
  /** Whether the compiler removes it. */
  readonly is_type_only: boolean
}

const STATIC =
  /\b(?:import|export)\s+(type\s+(?=[\w$*{]))?(?:(?:[\w$]+\s*,\s*)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\}|[\w$]+)\s*from\s*)?"(\d+)"/g
const DYNAMIC = /(\btypeof\s+)?\b(?:import|require)\s*\(\s*"(\d+)"[^()]*\)(\s*\.\s*[A-Z])?/g
const ENVIRONMENT = /\bprocess\s*\.\s*env\b|\}\s*=\s*process\b/

const COMMENT = /\/\/.*|\/\*[\s\S]*?\*\//y
const STRING = /'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"/y
const TEMPLATE_PART = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(`|\$\{)/y
const REGEXP = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y
const BEFORE_REGEXP = /(?:^|[(,=:[!&|?{};+*%^~>-]|\b(?:return|typeof|case|in|of|await|yield))\s*$/

/** The imports of a TypeScript text, without those in comments, strings and regular expressions. */
export function importsOf(source: string): Import[] {
  const { code, strings } = codeOf(source)
  const found: Import[] = []
  for (const [, type, index] of code.matchAll(STATIC)) {
    found.push({ specifier: strings[Number(index)] ?? '', is_type_only: type !== undefined })
  }
  for (const [, typeOf, index, member] of code.matchAll(DYNAMIC)) {
    const isTypeOnly = typeOf !== undefined || member !== undefined
    found.push({ specifier: strings[Number(index)] ?? '', is_type_only: isTypeOnly })
  }
  if (ENVIRONMENT.test(code)) found.push({ specifier: 'process.env', is_type_only: false })
  return found
}

/** The text without comments, templates' texts and regular expressions, every string replaced by its quoted index. */
function codeOf(source: string): { code: string; strings: string[] } {
  const strings: string[] = []
  const templates: number[] = [] // The depth of braces at which each open `${` ends.
  let code = ''
  let depth = 0
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  const takeTemplate = (): void => {
    if (take(TEMPLATE_PART)?.[1] === '${') templates.push(depth)
    code += '`'
  }
  while (at < source.length) {
    if (take(COMMENT) !== null) {
      code += ' '
      continue
    }
    const string = take(STRING)
    if (string !== null) {
      code += `"${strings.push(string[1] ?? string[2] ?? '') - 1}"`
      continue
    }
    if (source[at] === '/' && BEFORE_REGEXP.test(code.slice(-20)) && take(REGEXP) !== null) {
      code += '`'
      continue
    }
    const character = source[at++] ?? ''
    if (character === '`') takeTemplate()
    else if (character === '}' && templates.at(-1) === depth) {
      templates.pop()
      takeTemplate()
    } else {
      if (character === '{') depth++
      if (character === '}') depth--
      code += character
    }
  }
  return { code, strings }
}
