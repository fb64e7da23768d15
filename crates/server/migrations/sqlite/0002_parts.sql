-- How many parts an upload has: counted as each is added, and not anew for the next one.
ALTER TABLE recordings ADD COLUMN parts BIGINT NOT NULL DEFAULT 0;
UPDATE recordings SET parts = (SELECT COUNT(*) FROM chunks WHERE chunks.recording = recordings.id)
    WHERE id IN (SELECT recording FROM chunks);
