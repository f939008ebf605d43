import { Dialog } from '../../parts/index.ts'
import { isApple } from '../../shell/overlay.ts'
import { t } from '../../shell/text.ts'

const SHORTCUTS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [[isApple ? '⌘ K' : t('Ctrl K')], t('Go to a page, a person, a message or an action')],
  [['/'], t('Search on this page')],
  [['j', 'k'], t('Next and previous row of a list')],
  [[t('Enter')], t('Open the row')],
  [['→', '←'], t('In an open record: next and previous record')],
  [[t('Esc')], t('Close what is open')],
  [['?'], t('Show these keys')],
]

/** All keys of the console. */
export function Shortcuts({ onClose }: { onClose(): void }) {
  return (
    <Dialog title={t('Keyboard')} onClose={onClose}>
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
      <p class="small">{t('While you type in a field, these keys write.')}</p>
    </Dialog>
  )
}
