import { sideStep } from '../shell/text.ts'

/** Tabs: the arrow keys go from tab to tab. `tabs`: ids and their texts. */
export function Tabs({
  label,
  tabs,
  current,
  onChoose,
}: {
  label: string
  tabs: readonly (readonly [id: string, text: string])[]
  current: string
  onChoose(id: string): void
}) {
  function move(event: KeyboardEvent) {
    const step = sideStep(event.key)
    if (!step) return
    const at = tabs.findIndex(([id]) => id === current)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    onChoose(next[0])
    const { children } = event.currentTarget as HTMLElement
    ;(children[tabs.indexOf(next)] as HTMLElement).focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(([id, text]) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={id === current}
          tabIndex={id === current ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}
