CREATE TABLE "file_chunks" (
	"workspace_id" text NOT NULL,
	"sha256" text NOT NULL,
	"number" integer NOT NULL,
	"content" text NOT NULL,
	CONSTRAINT "file_chunks_workspace_id_sha256_number_pk" PRIMARY KEY("workspace_id","sha256","number")
);
--> statement-breakpoint
CREATE TABLE "files" (
	"workspace_id" text NOT NULL,
	"sha256" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"chunks" integer NOT NULL,
	"is_whole" boolean NOT NULL,
	"unused_since" timestamp (3) with time zone,
	CONSTRAINT "files_workspace_id_sha256_pk" PRIMARY KEY("workspace_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "message_files" (
	"workspace_id" text NOT NULL,
	"message_id" text NOT NULL,
	"number" integer NOT NULL,
	"sha256" text NOT NULL,
	CONSTRAINT "message_files_workspace_id_message_id_number_pk" PRIMARY KEY("workspace_id","message_id","number")
);
--> statement-breakpoint
CREATE INDEX "files_unused" ON "files" USING btree ("unused_since") WHERE unused_since is not null;--> statement-breakpoint
CREATE INDEX "message_files_sha256" ON "message_files" USING btree ("workspace_id","sha256");