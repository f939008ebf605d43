import { Dialog } from '../../parts/index.ts'
import { isApple } from '../../shell/overlay.ts'

const SHORTCUTS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [[isApple ? '⌘ K' : 'Ctrl K'], 'Go to a page, a person, a message or an action'],
  [['/'], 'Search on this page'],
  [['j', 'k'], 'Next and previous row of a list'],
  [['Enter'], 'Open the row'],
  [['→', '←'], 'In an open record: next and previous record'],
  [['Esc'], 'Close what is open'],
  [['?'], 'Show these keys'],
]

/** All keys of the console. */
export function Shortcuts({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="facts">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="small">While you type in a field, these keys write.</p>
    </Dialog>
  )
}
