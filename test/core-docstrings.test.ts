import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { programOf } from '../scripts/packages/exports-text.ts'

const CORE = fileURLToPath(new URL('../packages/core/src/core.ts', import.meta.url))
const OURS = fileURLToPath(new URL('../packages/core/src/', import.meta.url))

/** Every member of the type `Core`, and of the types of its members, with whether it has a docstring. */
function membersOfCore(): Map<string, boolean> {
  const program = programOf([CORE], { target: ts.ScriptTarget.ES2023, strict: true })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(CORE)
  const module = file && checker.getSymbolAtLocation(file)
  const core = module && checker.getExportsOfModule(module).find(({ name }) => name === 'Core')
  if (!core) throw new Error('core.ts exports no type Core')
  const members = new Map<string, boolean>()

  function visit(type: ts.Type, path: string): void {
    for (const member of type.getProperties()) {
      const declared = member.declarations?.[0]
      if (!declared?.getSourceFile().fileName.startsWith(OURS)) continue
      const name = path + member.name
      members.set(name, member.getDocumentationComment(checker).length > 0)
      const own = checker.getTypeOfSymbolAtLocation(member, declared)
      const isFunction = own.getCallSignatures().length > 0
      if (!isFunction && path.split('.').length < 4) visit(own, `${name}.`)
    }
  }

  visit(checker.getDeclaredTypeOfSymbol(core), '')
  return members
}

describe('the members of Core and of its parts', () => {
  it('have a docstring each', () => {
    const members = membersOfCore()
    expect([...members.keys()]).toEqual(
      expect.arrayContaining(['close', 'messages.send', 'messages.bulks.retry', 'webhooks.events']),
    )
    expect([...members].flatMap(([name, has]) => (has ? [] : [name]))).toEqual([])
  }, 60_000)
})
