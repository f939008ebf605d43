CREATE TABLE `second_factors` (
	`user_id` text PRIMARY KEY NOT NULL,
	`totp_secret` text,
	`totp_since` integer,
	`totp_step` integer,
	`recovery_hashes` text
) STRICT, WITHOUT ROWID;
