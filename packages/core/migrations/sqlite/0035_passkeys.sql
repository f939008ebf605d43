CREATE TABLE `passkey_challenges` (
	`challenge_hash` text PRIMARY KEY NOT NULL,
	`holder_id` text,
	`expires_at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `passkey_challenges_expires` ON `passkey_challenges` (`expires_at`);--> statement-breakpoint
CREATE TABLE `passkeys` (
	`credential_id` text PRIMARY KEY NOT NULL,
	`holder_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`public_key` text NOT NULL,
	`counter` integer NOT NULL,
	`needs_password` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `passkeys_holder` ON `passkeys` (`holder_id`);